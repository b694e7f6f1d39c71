#include "cache/evicted_pages.h"

#include <algorithm>

#include "base/checksum.h"

namespace indexshare {
namespace {

constexpr size_t kSteps[] = {16, 64, 256};
constexpr size_t kMaxHashes = 3 * 65536;

}  // namespace

uint64_t hash_tokens(uint64_t before, std::span<const int32_t> tokens) {
  return checksum(std::as_bytes(tokens), before);
}

void EvictedPages::add(uint64_t before, std::span<const int32_t> page) {
  for (const size_t step : kSteps) {
    if (step > page.size()) return;
    const uint64_t hash = hash_tokens(before, page.first(step));
    if (!hashes_.insert(hash).second) continue;
    by_age_.push_back(hash);
    if (by_age_.size() <= kMaxHashes) continue;
    hashes_.erase(by_age_.front());
    by_age_.pop_front();
  }
}

bool EvictedPages::had_more(uint64_t before, std::span<const int32_t> tokens, int64_t common) const {
  return std::ranges::any_of(kSteps, [&](size_t step) {
    return static_cast<int64_t>(step) > common && step <= tokens.size() &&
           hashes_.contains(hash_tokens(before, tokens.first(step)));
  });
}

}  // namespace indexshare
