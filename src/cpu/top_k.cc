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

// Positions ascend here, so that a score equal to the worst one's loses.
void TopK::push(const float* scores, int64_t n, int64_t first) {
  for (int64_t i = 0; i < n; ++i) {
    if (bounded_ && !(scores[i] > worst_.score)) continue;  // a NaN, too, ends here
    const float score = std::isnan(scores[i]) ? -std::numeric_limits<float>::infinity() : scores[i];
    add({score, static_cast<int32_t>(first + i)});
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
