#include "cpu/sequences.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace indexshare::cpu {

void OwnedBatch::add(SequenceCache& cache, int64_t position, int64_t rows) {
  segments.push_back({.cache = &cache, .first_row = std::ssize(tokens), .rows = rows, .position = position});
  for (int64_t i = 0; i < rows; ++i) {
    tokens.push_back(0);
    positions.push_back(static_cast<int32_t>(position + i));
    segment_of.push_back(static_cast<int32_t>(segments.size() - 1));
  }
}

Sequences::Sequences(const CacheLayout& layout, const std::vector<int64_t>& lengths) : pool_(layout, 0) {
  for (size_t i = 0; i < lengths.size(); ++i) caches_.emplace_back(pool_);
  for (bool growing = true; growing;) {
    growing = false;
    for (size_t i = 0; i < lengths.size(); ++i) {
      const int64_t missing = lengths[i] - caches_[i].length();
      if (!caches_[i].extend(std::min(missing, kPageTokens)).ok()) std::abort();
      growing = growing || missing > kPageTokens;
    }
  }
}

OwnedBatch Sequences::last(int64_t rows) {
  OwnedBatch batch;
  for (SequenceCache& cache : caches_) {
    const int64_t count = std::min(rows, cache.length());
    batch.add(cache, cache.length() - count, count);
  }
  return batch;
}

OwnedBatch Sequences::all() {
  return last(std::numeric_limits<int64_t>::max());
}

}  // namespace indexshare::cpu
