#include "cpu/top_k.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace indexshare::cpu {

void TopK::reset(int64_t k) {
  k_ = k;
  count_ = 0;
  bounded_ = false;
  kept_.resize(2 * k);
}

bool TopK::better(const Candidate& a, const Candidate& b) {
  return a.score > b.score || (a.score == b.score && a.position < b.position);
}

void TopK::add(Candidate candidate) {
  if (count_ == kept_.size()) {
    prune();
    if (!better(candidate, worst_)) return;
  }
  kept_[count_++] = candidate;
}

// Leaves the k best.
void TopK::prune() {
  Candidate* begin = kept_.data();
  std::nth_element(begin, begin + (k_ - 1), begin + count_, better);
  count_ = k_;
  worst_ = begin[k_ - 1];
  bounded_ = true;
}

// Positions ascend here, so that a score equal to the worst one's loses. Most runs hold nothing to keep.
void TopK::push(const float* scores, int64_t n, int64_t first) {
  constexpr int64_t kRun = 16;
  for (int64_t i = 0; i < n; i += kRun) {
    const int64_t end = std::min(i + kRun, n);
    if (bounded_ && end == i + kRun) {
      int above = 0;
      for (int64_t j = i; j < i + kRun; ++j) above += scores[j] > worst_.score ? 1 : 0;
      if (above == 0) continue;  // NaNs, too, end here
    }
    for (int64_t j = i; j < end; ++j) {
      if (bounded_ && !(scores[j] > worst_.score)) continue;
      const float score = std::isnan(scores[j]) ? -std::numeric_limits<float>::infinity() : scores[j];
      add({score, static_cast<int32_t>(first + j)});
    }
  }
}

// The other one's candidates stand in no order.
void TopK::merge(const TopK& other) {
  for (int64_t i = 0; i < other.count_; ++i) {
    const Candidate& candidate = other.kept_[i];
    if (!bounded_ || better(candidate, worst_)) add(candidate);
  }
}

int64_t TopK::finish(int32_t* positions) {
  if (count_ > k_) prune();
  for (int64_t i = 0; i < count_; ++i) positions[i] = kept_[i].position;
  std::sort(positions, positions + count_);
  return count_;
}

}  // namespace indexshare::cpu
