// What a tokenizer does to a text before it splits it.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "text/regex.h"
#include "text/unicode.h"

namespace indexshare {

class Normalizer {
 public:
  struct Replace {
    Regex pattern;
    std::string content;
  };
  struct Prepend {  // to a text that is not empty
    std::string content;
  };
  struct Strip {  // white space
    bool left, right;
  };
  using Step = std::variant<NormalForm, Replace, Prepend, Strip>;

  explicit Normalizer(std::vector<Step> steps = {}) : steps_(std::move(steps)) {}

  bool is_empty() const { return steps_.empty(); }

  /// `text` is valid UTF-8.
  std::string apply(std::string_view text) const;

 private:
  std::vector<Step> steps_;
};

}  // namespace indexshare
