// Regular expressions over UTF-8 that match as the reference's do (see regex_syntax.h), through PCRE2.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "indexshare/result.h"
#include "text/stand_ins.h"

namespace indexshare {

struct Span {
  size_t begin, end;  // bytes

  bool operator==(const Span&) const = default;
};

/// A compiled pattern; const use from several threads is fine.
class Regex {
 public:
  /// `where` names the pattern in errors ("tokenizer.json: pre_tokenizer.pattern.Regex").
  static Result<Regex> compile(std::string_view pattern, std::string_view where);

  /// A pattern that matches `text` itself.
  static Result<Regex> literal(std::string_view text, std::string_view where);

  /// Appends the matches in `text` (valid UTF-8), leftmost first and not overlapping. An empty match just
  /// behind another match is passed over. A pattern that takes more steps than the limits allow (only
  /// ones that backtrack without end do) finds nothing more.
  void find_all(std::string_view text, std::vector<Span>& matches) const;

  /// Whether there may be matches of no length.
  bool may_match_empty() const;

 private:
  struct Free {
    void operator()(void* code) const;
  };
  Regex(void* code, StandIns stand_ins) : code_(code), stand_ins_(std::move(stand_ins)) {}

  std::unique_ptr<void, Free> code_;  // a pcre2_code
  StandIns stand_ins_;
};

}  // namespace indexshare
