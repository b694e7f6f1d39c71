// Finds stop strings in text that arrives in pieces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace indexshare {

/// Holds back text that could be the beginning of a stop string, so that nothing of one is ever shown, unless
/// `include` asks for it.
class StopMatcher {
 public:
  /// None of `stops` may be empty.
  explicit StopMatcher(std::vector<std::string> stops, bool include = false)
      : stops_(std::move(stops)), include_(include) {}

  /// Returns the text that is safe to show. Once a stop string is complete, that is what stood before it (and
  /// itself, if included), and nothing after it is ever returned.
  std::string push(std::string_view text);

  /// What is still held back, when nothing more comes.
  std::string flush();

  bool stopped() const { return stopped_; }

  /// The stop string that was met; empty before.
  const std::string& met() const { return met_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool include_;
  bool stopped_ = false;
  std::string met_;
};

}  // namespace indexshare
