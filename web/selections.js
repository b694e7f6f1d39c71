// What tokens selected, as /v1/index-lens tells it: a row of bits for each token, a bit for each position.

const ONES = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll("0", "").length);

export class Selections {
  constructor(base64, length) {
    this.bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    this.stride = Math.ceil(length / 8);
    this.rows = this.bytes.length / this.stride;
  }

  has(row, position) {
    return ((this.bytes[row * this.stride + (position >> 3)] >> (position & 7)) & 1) === 1;
  }

  /** How many positions before `end` a row has. */
  count(row, end) {
    let count = 0;
    for (let position = 0; position < end; position++) count += this.has(row, position);
    return count;
  }

  /** Of what each row has, the share that is in the same row of `other` too, on average over the rows. */
  overlap(other) {
    let sum = 0;
    for (let row = 0; row < this.rows; row++) {
      let own = 0;
      let common = 0;
      for (let i = row * this.stride; i < (row + 1) * this.stride; i++) {
        own += ONES[this.bytes[i]];
        common += ONES[this.bytes[i] & other.bytes[i]];
      }
      sum += common / own;
    }
    return sum / this.rows;
  }
}
