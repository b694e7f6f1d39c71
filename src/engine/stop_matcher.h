// Finds stop strings in text that arrives in pieces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace indexshare {

/// Holds back text that could be the beginning of a stop string, so that nothing of one is ever shown.
class StopMatcher {
 public:
  /// None of `stops` may be empty.
  explicit StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  /// Returns the text that is safe to show. Once a stop string is complete, that is what stood before it, and
  /// nothing after it is ever returned.
  std::string push(std::string_view text);

  /// What is still held back, when nothing more comes.
  std::string flush();

  bool stopped() const { return stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace indexshare
