// Splits a text into the words that byte-pair encoding merges within.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "text/regex.h"

namespace indexshare {

/// What becomes of the matches of a split, beside the text between them.
enum class SplitBehavior : uint8_t {
  removed,
  isolated,              // each a piece of its own
  contiguous,            // each run of matches a piece of its own
  merged_with_previous,  // joined to the text before
  merged_with_next,      // joined to the text behind
};

class PreTokenizer {
 public:
  struct Split {
    Regex pattern;
    SplitBehavior behavior;
    bool invert;  // what the pattern does not match counts as the matches
  };
  /// The last step, which in the reference also spells the bytes.
  struct ByteLevel {
    bool add_prefix_space;         // to each piece that does not begin with one
    std::optional<Regex> pattern;  // isolates its matches
  };

  PreTokenizer(std::vector<Split> splits, ByteLevel byte_level)
      : splits_(std::move(splits)), byte_level_(std::move(byte_level)) {}

  /// Calls `use` with each word of `text` (valid UTF-8), none of them empty.
  void for_each_word(std::string_view text, const std::function<void(std::string_view)>& use) const;

  /// The pieces of `text`, where `matches` lie in it (see SplitBehavior); empty ones included.
  static std::vector<Span> split(std::string_view text, const std::vector<Span>& matches,
                                 SplitBehavior behavior, bool invert);

 private:
  std::vector<Split> splits_;
  ByteLevel byte_level_;
};

}  // namespace indexshare
