// Where a text that comes in pieces may be in the middle of something.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace indexshare {

/// The bytes at the end of `text` that `word`, which is not empty, begins with: the most there are, but not
/// all of it.
inline size_t overlap(std::string_view text, std::string_view word) {
  for (size_t n = std::min(text.size(), word.size() - 1); n > 0; --n) {
    if (text.ends_with(word.substr(0, n))) return n;
  }
  return 0;
}

}  // namespace indexshare
