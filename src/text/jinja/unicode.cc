// Character classes and case mapping come from utf8proc, corrected by unicode_tables.h where Python differs.
#include "text/jinja/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/error.h"
#include "text/jinja/unicode_tables.h"

namespace indexshare::jinja {
namespace {

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

template <size_t N>
bool contains(const CodePointRange (&ranges)[N], char32_t c) {
  const auto* after =
      std::upper_bound(std::begin(ranges), std::end(ranges), c,
                       [](char32_t x, const CodePointRange& range) { return x < range.first; });
  return after != std::begin(ranges) && c <= std::prev(after)->last;
}

template <size_t N>
const SpecialCase* find_special(const SpecialCase (&table)[N], char32_t c) {
  const auto* found = std::lower_bound(std::begin(table), std::end(table), c,
                                       [](const SpecialCase& entry, char32_t x) { return entry.from < x; });
  return found != std::end(table) && found->from == c ? found : nullptr;
}

void append_special(std::string& out, const SpecialCase& special) {
  for (const uint32_t c : special.to) {
    if (c != 0) append_code_point(out, c);
  }
}

char32_t simple_lower(char32_t c) {
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
}

void append_upper(std::string& out, char32_t c) {
  if (const SpecialCase* special = find_special(kSpecialUpper, c)) return append_special(out, *special);
  append_code_point(out, static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))));
}

void append_title(std::string& out, char32_t c) {
  if (const SpecialCase* special = find_special(kSpecialTitle, c)) return append_special(out, *special);
  append_code_point(out, static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c))));
}

bool is_cased(char32_t c) {
  return is_lower(c) || is_upper(c) || is_title(c);
}

bool is_case_ignorable(char32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK: return true;
    default: break;
  }
  constexpr std::u32string_view kMarks =
      U"'.:^`\u00b7\u0387\u055f\u05f4\u2018\u2019\u2024\u2027\ufe13\ufe52"
      U"\ufe55\uff07\uff0e\uff1a";
  return kMarks.find(c) != std::u32string_view::npos;
}

// Sigma at the end of a word has a form of its own (SpecialCasing.txt, Final_Sigma).
bool is_final_sigma(std::string_view text, size_t begin, size_t end) {
  char32_t before = 0;
  for (size_t i = begin; i > 0 && (before == 0 || is_case_ignorable(before));)
    before = decode_before(text, i);
  char32_t after = 0;
  for (size_t i = end; i < text.size() && (after == 0 || is_case_ignorable(after));) after = decode(text, i);
  const auto cased = [](char32_t c) { return c != 0 && !is_case_ignorable(c) && is_cased(c); };
  return cased(before) && !cased(after);
}

void append_lower(std::string& out, std::string_view text, size_t begin, size_t end, char32_t c) {
  if (c == U'\u0130') {
    out += "i\u0307";
  } else if (c == U'\u03a3') {
    append_code_point(out, is_final_sigma(text, begin, end) ? U'\u03c2' : U'\u03c3');
  } else {
    append_code_point(out, simple_lower(c));
  }
}

// Calls visit(code point, first byte, byte behind it) for each code point.
template <typename Visit>
void for_each(std::string_view text, Visit visit) {
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    const char32_t c = decode(text, i);
    visit(c, begin, i);
  }
}

}  // namespace

bool is_valid_utf8(std::string_view text) {
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  for (size_t i = 0; i < text.size();) {
    if (static_cast<unsigned char>(text[i]) < 0x80) {
      ++i;
      continue;
    }
    utf8proc_int32_t c = 0;
    const utf8proc_ssize_t size =
        utf8proc_iterate(bytes + i, static_cast<utf8proc_ssize_t>(text.size() - i), &c);
    if (size <= 0) return false;
    i += static_cast<size_t>(size);
  }
  return true;
}

char32_t decode(std::string_view text, size_t& position) {
  const auto byte = [&](size_t i) -> char32_t {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const char32_t lead = byte(position);
  size_t size = 1;
  char32_t c = lead;
  if (lead >= 0xf0) {
    size = 4;
    c = (lead & 0x07) << 18 | (byte(position + 1) & 0x3f) << 12 | (byte(position + 2) & 0x3f) << 6 |
        (byte(position + 3) & 0x3f);
  } else if (lead >= 0xe0) {
    size = 3;
    c = (lead & 0x0f) << 12 | (byte(position + 1) & 0x3f) << 6 | (byte(position + 2) & 0x3f);
  } else if (lead >= 0xc0) {
    size = 2;
    c = (lead & 0x1f) << 6 | (byte(position + 1) & 0x3f);
  }
  position = std::min(position + size, text.size());
  return c;
}

char32_t decode_before(std::string_view text, size_t& position) {
  do --position;
  while (position > 0 && is_continuation(text[position]));
  size_t i = position;
  return decode(text, i);
}

void append_code_point(std::string& out, char32_t c) {
  const auto put = [&](char32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | c >> 6), put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | c >> 12), put(0x80 | (c >> 6 & 0x3f)), put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | c >> 18), put(0x80 | (c >> 12 & 0x3f)), put(0x80 | (c >> 6 & 0x3f)), put(0x80 | (c & 0x3f));
  }
}

int64_t count_code_points(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); });
}

size_t byte_offset(std::string_view text, int64_t index) {
  size_t i = 0;
  for (; i < text.size(); ++i) {
    if (!is_continuation(text[i]) && index-- == 0) break;
  }
  return i;
}

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

bool is_line_break(char32_t c) {
  return (c >= 0x0a && c <= 0x0d) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

bool is_alpha(char32_t c) {
  const utf8proc_category_t kind = category(c);
  return kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
}

bool is_decimal(char32_t c) {
  return category(c) == UTF8PROC_CATEGORY_ND;
}
bool is_digit(char32_t c) {
  return is_decimal(c) || contains(kDigitsNotDecimal, c);
}

bool is_numeric(char32_t c) {
  const utf8proc_category_t kind = category(c);
  return (kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO) || contains(kNumericLetters, c);
}

bool is_alnum(char32_t c) {
  return is_alpha(c) || is_numeric(c);
}
bool is_lower(char32_t c) {
  return category(c) == UTF8PROC_CATEGORY_LL || contains(kOtherLowercase, c);
}
bool is_upper(char32_t c) {
  return category(c) == UTF8PROC_CATEGORY_LU || contains(kOtherUppercase, c);
}
bool is_title(char32_t c) {
  return category(c) == UTF8PROC_CATEGORY_LT;
}

bool is_printable(char32_t c) {
  if (c == U' ') return true;
  switch (category(c)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP: return false;
    default: return true;
  }
}

bool is_identifier_start(char32_t c) {
  return c == U'_' || is_alpha(c) || category(c) == UTF8PROC_CATEGORY_NL;
}

bool is_identifier_part(char32_t c) {
  const utf8proc_category_t kind = category(c);
  return is_identifier_start(c) || kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_MN ||
         kind == UTF8PROC_CATEGORY_MC || kind == UTF8PROC_CATEGORY_PC;
}

int decimal_value(char32_t c) {
  if (c >= U'0' && c <= U'9') return static_cast<int>(c - U'0');
  if (!is_decimal(c)) return -1;
  // Unicode keeps decimal digits in contiguous runs of ten that begin with zero.
  char32_t first = c;
  while (is_decimal(first - 1)) --first;
  return static_cast<int>((c - first) % 10);
}

std::string to_lower(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for_each(text, [&](char32_t c, size_t begin, size_t end) { append_lower(out, text, begin, end, c); });
  return out;
}

std::string to_upper(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for_each(text, [&](char32_t c, size_t, size_t) { append_upper(out, c); });
  return out;
}

std::string to_title(std::string_view text) {
  std::string out;
  bool in_word = false;
  for_each(text, [&](char32_t c, size_t begin, size_t end) {
    in_word ? append_lower(out, text, begin, end, c) : append_title(out, c);
    in_word = is_cased(c);
  });
  return out;
}

std::string to_capitalized(std::string_view text) {
  std::string out;
  for_each(text, [&](char32_t c, size_t begin, size_t end) {
    begin == 0 ? append_title(out, c) : append_lower(out, text, begin, end, c);
  });
  return out;
}

std::string to_swapped_case(std::string_view text) {
  std::string out;
  for_each(text, [&](char32_t c, size_t begin, size_t end) {
    if (is_upper(c)) return append_lower(out, text, begin, end, c);
    is_lower(c) ? append_upper(out, c) : append_code_point(out, c);
  });
  return out;
}

std::string to_folded(std::string_view text) {
  std::string out;
  for_each(text, [&](char32_t c, size_t, size_t) {
    if (const SpecialCase* special = find_special(kSpecialFold, c)) return append_special(out, *special);
    utf8proc_int32_t folded[4] = {};
    int boundary_class = 0;
    const utf8proc_ssize_t size = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), folded, 4,
                                                          UTF8PROC_CASEFOLD, &boundary_class);
    if (size <= 0 || size > 4) return append_code_point(out, c);
    for (utf8proc_ssize_t i = 0; i < size; ++i) append_code_point(out, static_cast<char32_t>(folded[i]));
  });
  return out;
}

std::string_view strip(std::string_view text, const std::string_view* set, bool left, bool right) {
  std::u32string wanted;
  if (set != nullptr) for_each(*set, [&](char32_t c, size_t, size_t) { wanted += c; });
  const auto strips = [&](char32_t c) {
    return set == nullptr ? is_space(c) : wanted.find(c) != std::u32string::npos;
  };
  size_t begin = 0;
  while (left && begin < text.size()) {
    size_t next = begin;
    if (!strips(decode(text, next))) break;
    begin = next;
  }
  size_t end = text.size();
  while (right && end > begin) {
    size_t previous = end;
    if (!strips(decode_before(text, previous))) break;
    end = previous;
  }
  return text.substr(begin, end - begin);
}

std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends) {
  std::vector<std::string_view> lines;
  size_t begin = 0;
  for (size_t i = 0; i < text.size();) {
    const size_t line_end = i;
    const char32_t c = decode(text, i);
    if (!is_line_break(c)) continue;
    if (c == U'\r' && i < text.size() && text[i] == '\n') ++i;
    lines.push_back(text.substr(begin, (keep_ends ? i : line_end) - begin));
    begin = i;
  }
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return lines;
}

std::string quote_text(std::string_view text, bool ascii) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const bool has_double = text.find('"') != std::string_view::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  std::string out(1, quote);
  for_each(text, [&](char32_t c, size_t, size_t) {
    const auto code = static_cast<uint32_t>(c);
    if (c == static_cast<char32_t>(quote) || c == U'\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == U'\n') {
      out += "\\n";
    } else if (c == U'\r') {
      out += "\\r";
    } else if (c == U'\t') {
      out += "\\t";
    } else if (c < 0x80 ? c >= 0x20 && c != 0x7f : !ascii && is_printable(c)) {
      append_code_point(out, c);
    } else if (c < 0x100) {
      out += fmt::format("\\x{:02x}", code);
    } else if (c < 0x10000) {
      out += fmt::format("\\u{:04x}", code);
    } else {
      out += fmt::format("\\U{:08x}", code);
    }
  });
  out += quote;
  return out;
}

size_t find_bytes(std::string_view text, std::string_view needle, size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (needle.empty()) return from;
  // memmem is linear; std::string_view::find is quadratic on repetitive text.
  const void* found = memmem(text.data() + from, text.size() - from, needle.data(), needle.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

size_t find_last_bytes(std::string_view text, std::string_view needle) {
  // Searching the reversed text keeps this linear too.
  const std::string backwards(text.rbegin(), text.rend());
  const std::string reversed(needle.rbegin(), needle.rend());
  const size_t found = find_bytes(backwards, reversed);
  return found == std::string_view::npos ? found : text.size() - found - needle.size();
}

}  // namespace indexshare::jinja
