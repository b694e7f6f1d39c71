// Added tokens (special ones among them): finds them in a text, as the reference does.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/regex.h"

namespace indexshare {

struct AddedToken {
  int32_t id = 0;
  std::string content;
  bool single_word = false;  // only where no word character stands before or behind it
  bool lstrip = false;       // takes the white space before it along
  bool rstrip = false;       // and behind it
  bool normalized = true;    // looked for in the normalized text, by its normalized content
  bool special = false;
};

/// A stretch of text, or the token found there.
struct TextPiece {
  static constexpr int32_t kText = -1;

  std::string_view text;
  int32_t id = kText;
};

/// Finds a set of added tokens by their content: leftmost first, of those the longest.
class AddedTokenFinder {
 public:
  /// No content is empty, and no two are equal.
  explicit AddedTokenFinder(std::vector<AddedToken> tokens);

  /// Appends the pieces of `text` (valid UTF-8), none of them empty text. `skip_special`: special tokens
  /// count as text. `word_character` matches one, which single_word asks about.
  void split(std::string_view text, bool skip_special, const Regex& word_character,
             std::vector<TextPiece>& pieces) const;

 private:
  const AddedToken* longest_at(std::string_view text) const;

  std::vector<AddedToken> tokens_;          // in the order of their content's bytes
  std::array<uint32_t, 257> first_byte_{};  // tokens [first_byte_[b], first_byte_[b + 1]) begin with b
};

}  // namespace indexshare
