#include "text/byte_level.h"

#include <array>
#include <cstddef>

#include "text/utf8.h"

namespace indexshare {

namespace {

constexpr bool is_printable(int byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

constexpr char32_t kLetters = 0x144;  // one past the last letter: 0x100 + 68

struct Alphabet {
  std::array<char32_t, 256> letter{};
  std::array<int16_t, kLetters> byte{};  // -1: no letter
};

constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  alphabet.byte.fill(-1);
  char32_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const char32_t letter = is_printable(byte) ? static_cast<char32_t>(byte) : next++;
    alphabet.letter[static_cast<size_t>(byte)] = letter;
    alphabet.byte[letter] = static_cast<int16_t>(byte);
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

bool append_spelled_bytes(std::string_view spelling, std::string& out) {
  const size_t size_before = out.size();
  while (!spelling.empty()) {
    const Utf8Step step = utf8_step(spelling);
    const int byte = step.code_point < kLetters ? kAlphabet.byte[step.code_point] : -1;
    if (byte < 0) {
      out.resize(size_before);
      return false;
    }
    out += static_cast<char>(byte);
    spelling.remove_prefix(step.length);
  }
  return true;
}

std::string spell_bytes(std::string_view bytes) {
  std::string spelling;
  for (const char byte : bytes) append_utf8(kAlphabet.letter[static_cast<unsigned char>(byte)], spelling);
  return spelling;
}

}  // namespace indexshare
