// Selections as a picture: a row for each token, from the first position at the left to the last at the right.

const MOST_COLUMNS = 512; // of more positions several share one, the darker the more of them are selected
const MOST_HEIGHT = 100; // CSS pixels
const ROW_HEIGHT = 8;
const PASSED_OVER = 0.1; // opacity of what could have been selected
const SELECTED = 0.3; // the least of what was

/** Red, green and blue of a CSS colour of the page. */
function colourOf(element, variable) {
  const context = document.createElement("canvas").getContext("2d");
  element.style.color = `var(${variable})`;
  context.fillStyle = getComputedStyle(element).color;
  context.fillRect(0, 0, 1, 1);
  return context.getImageData(0, 0, 1, 1).data;
}

/** Draws the selections of tokens number `first` on, the row `chosen` apart from the others. */
export function drawHeatMap(canvas, selections, { first, chosen }) {
  const length = first + selections.rows;
  const columns = Math.min(length, MOST_COLUMNS);
  canvas.width = columns;
  canvas.height = selections.rows;
  canvas.style.height = `${Math.min(MOST_HEIGHT, ROW_HEIGHT * selections.rows)}px`;
  const usual = colourOf(canvas, "--heat");
  const marked = colourOf(canvas, "--mark");
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, selections.rows);
  for (let row = 0; row < selections.rows; row++) {
    const colour = row === chosen ? marked : usual;
    for (let column = 0; column < columns; column++) {
      const begin = Math.floor((column * length) / columns);
      const end = Math.min(Math.floor(((column + 1) * length) / columns), first + row + 1);
      if (end <= begin) break;
      let selected = 0;
      for (let position = begin; position < end; position++) selected += selections.has(row, position);
      const opacity = selected === 0 ? PASSED_OVER : SELECTED + ((1 - SELECTED) * selected) / (end - begin);
      image.data.set([colour[0], colour[1], colour[2], 255 * opacity], 4 * (row * columns + column));
    }
  }
  context.putImageData(image, 0, 0);
}

/** The row of a picture that was clicked. */
export function rowAt(canvas, event) {
  const box = canvas.getBoundingClientRect();
  const row = Math.floor(((event.clientY - box.top) / box.height) * canvas.height);
  return Math.max(0, Math.min(canvas.height - 1, row));
}
