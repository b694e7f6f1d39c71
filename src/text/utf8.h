// UTF-8, strictly as Unicode defines it: stepping through bytes, writing code points, repairing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace indexshare {

inline constexpr char32_t kReplacement = 0xfffd;
inline constexpr std::string_view kReplacementUtf8 = "\xef\xbf\xbd";

/// What stands at the beginning of some bytes.
struct Utf8Step {
  enum Kind : uint8_t {
    valid,      // a character of `length` bytes
    truncated,  // all `length` bytes left are the beginning of a character
    invalid,    // `length` bytes that begin a character which then does not go on (or cannot be one)
  };
  Kind kind;
  uint8_t length;       // 1 to 4
  char32_t code_point;  // kReplacement unless valid
};

/// `bytes` is not empty.
Utf8Step utf8_step(std::string_view bytes);

/// The code point at the beginning of valid UTF-8 that is not empty.
inline char32_t first_code_point(std::string_view text) {
  return utf8_step(text).code_point;
}

/// The code point at the end of valid UTF-8 that is not empty.
char32_t last_code_point(std::string_view text);

constexpr size_t utf8_length(char32_t c) {
  return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
}

void append_utf8(char32_t c, std::string& out);

/// Appends `bytes` with every invalid or truncated part as one U+FFFD: what the reference's decoder
/// (Rust's from_utf8_lossy) and Python's errors="replace" do.
void append_repaired(std::string_view bytes, std::string& out);

/// Whether `bytes` is UTF-8 as a whole.
bool is_utf8(std::string_view bytes);

}  // namespace indexshare
