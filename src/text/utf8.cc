#include "text/utf8.h"

namespace indexshare {

namespace {

/// The bytes that may follow a lead byte (Unicode, table 3-7): how many, and the range of the first.
struct Lead {
  uint8_t length;  // of the whole character; 0: no character begins so
  uint8_t low, high;
};

Lead lead(uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xc2) return {0, 0, 0};
  if (byte < 0xe0) return {2, 0x80, 0xbf};
  if (byte == 0xe0) return {3, 0xa0, 0xbf};  // below: too long a form
  if (byte == 0xed) return {3, 0x80, 0x9f};  // above: surrogates
  if (byte < 0xf0) return {3, 0x80, 0xbf};
  if (byte == 0xf0) return {4, 0x90, 0xbf};
  if (byte < 0xf4) return {4, 0x80, 0xbf};
  if (byte == 0xf4) return {4, 0x80, 0x8f};  // above: past U+10FFFF
  return {0, 0, 0};
}

}  // namespace

Utf8Step utf8_step(std::string_view bytes) {
  const uint8_t first = static_cast<uint8_t>(bytes[0]);
  const Lead l = lead(first);
  if (l.length == 1) return {Utf8Step::valid, 1, first};
  if (l.length == 0) return {Utf8Step::invalid, 1, kReplacement};

  char32_t c = first & (0x7fu >> l.length);
  for (uint8_t i = 1; i < l.length; ++i) {
    if (i == bytes.size()) return {Utf8Step::truncated, i, kReplacement};
    const uint8_t byte = static_cast<uint8_t>(bytes[i]);
    const bool goes_on = i == 1 ? byte >= l.low && byte <= l.high : (byte & 0xc0) == 0x80;
    if (!goes_on) return {Utf8Step::invalid, i, kReplacement};
    c = c << 6 | (byte & 0x3f);
  }
  return {Utf8Step::valid, l.length, c};
}

char32_t last_code_point(std::string_view text) {
  size_t begin = text.size() - 1;
  while (begin > 0 && (text[begin] & 0xc0) == 0x80) --begin;
  return first_code_point(text.substr(begin));
}

void append_utf8(char32_t c, std::string& out) {
  if (c < 0x80) {
    out += static_cast<char>(c);
    return;
  }
  const size_t length = utf8_length(c);
  const uint8_t mark = static_cast<uint8_t>(0xf00u >> length);
  out += static_cast<char>(mark | c >> 6 * (length - 1));
  for (size_t i = length - 1; i-- > 0;) out += static_cast<char>(0x80 | (c >> 6 * i & 0x3f));
}

void append_repaired(std::string_view bytes, std::string& out) {
  while (!bytes.empty()) {
    const Utf8Step step = utf8_step(bytes);
    out += step.kind == Utf8Step::valid ? bytes.substr(0, step.length) : kReplacementUtf8;
    bytes.remove_prefix(step.length);
  }
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const Utf8Step step = utf8_step(bytes);
    if (step.kind != Utf8Step::valid) return false;
    bytes.remove_prefix(step.length);
  }
  return true;
}

}  // namespace indexshare
