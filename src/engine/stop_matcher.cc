#include "engine/stop_matcher.h"

#include <algorithm>
#include <utility>

#include "text/overlap.h"

namespace indexshare {
std::string StopMatcher::push(std::string_view text) {
  if (stopped_) return {};
  held_ += text;
  size_t first = std::string::npos;
  for (const std::string& stop : stops_) {
    if (const size_t at = held_.find(stop); at < first) {
      first = at;
      met_ = stop;
    }
  }
  if (first != std::string::npos) {
    stopped_ = true;
    held_.resize(first + (include_ ? met_.size() : 0));
    return std::exchange(held_, {});
  }
  size_t keep = 0;
  for (const std::string& stop : stops_) keep = std::max(keep, overlap(held_, stop));
  std::string safe = held_.substr(0, held_.size() - keep);
  held_.erase(0, safe.size());
  return safe;
}

std::string StopMatcher::flush() {
  return std::exchange(held_, {});
}

}  // namespace indexshare
