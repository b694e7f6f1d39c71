// Python's view of text over UTF-8 bytes: code points, character classes, case mapping, repr. Every
// `text` here is valid UTF-8: templates are checked when parsed, variables when converted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace indexshare::jinja {

bool is_valid_utf8(std::string_view text);

/// Reads the code point at byte `position` and moves `position` behind it.
char32_t decode(std::string_view text, size_t& position);
void append_code_point(std::string& out, char32_t c);
/// The code point that ends before byte `position`, which moves to its first byte.
char32_t decode_before(std::string_view text, size_t& position);

/// Length in code points.
int64_t count_code_points(std::string_view text);
/// Byte offset of the code point with number `index`; the size of `text` when there are fewer.
size_t byte_offset(std::string_view text, int64_t index);

// The classes behind str.isspace() and its siblings.
bool is_space(char32_t c);
bool is_line_break(char32_t c);
bool is_alpha(char32_t c);
bool is_decimal(char32_t c);
bool is_digit(char32_t c);
bool is_numeric(char32_t c);
bool is_alnum(char32_t c);
bool is_lower(char32_t c);
bool is_upper(char32_t c);
bool is_title(char32_t c);
bool is_printable(char32_t c);
bool is_identifier_start(char32_t c);
bool is_identifier_part(char32_t c);
/// The value of a decimal digit of any script, -1 for anything else.
int decimal_value(char32_t c);

std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);
std::string to_title(std::string_view text);  // str.title(): a word is a run of cased letters
std::string to_capitalized(std::string_view text);
std::string to_swapped_case(std::string_view text);
std::string to_folded(std::string_view text);

/// Strips characters of `set` (spaces when null) from the asked sides.
std::string_view strip(std::string_view text, const std::string_view* set, bool left, bool right);
inline std::string_view strip(std::string_view text) {
  return strip(text, nullptr, true, true);
}
std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends);

/// repr(str): quoted, with escapes; `ascii` escapes all else too, as ascii() does.
std::string quote_text(std::string_view text, bool ascii = false);

/// Byte position of `needle` in `text` from byte `from` on, npos if it is absent. Linear in both sizes.
size_t find_bytes(std::string_view text, std::string_view needle, size_t from = 0);
size_t find_last_bytes(std::string_view text, std::string_view needle);

}  // namespace indexshare::jinja
