// Shows PCRE2 a text in which it and the reference agree about the category of every code point.
#pragma once

#include <bitset>
#include <string>
#include <string_view>
#include <vector>

#include "indexshare/result.h"
#include "text/unicode.h"

namespace indexshare {

/// Replaces code points that PCRE2 may know otherwise than the reference by others of the right category,
/// of the same length in UTF-8 (so that offsets hold), that a given pattern does not tell apart by name.
class StandIns {
 public:
  /// For a pattern that names `named`. `where` names it in errors.
  static Result<StandIns> choose(const std::vector<CodePointRun>& named, std::string_view where);

  /// `text` itself, or `shadow` filled with the text to match instead.
  std::string_view apply(std::string_view text, std::string& shadow) const;

 private:
  struct Run {
    char32_t first, last;
    char32_t stand_in;
  };
  char32_t find(char32_t c) const;  // what stands for c: mostly itself

  std::vector<Run> runs_;                // ascending
  std::bitset<0x110000 / 256> touched_;  // blocks of 256 code points in which there is a run
};

}  // namespace indexshare
