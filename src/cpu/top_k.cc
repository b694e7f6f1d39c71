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

void TopK::add(float score, int64_t position) {
  if (count_ == kept_.size()) {
    prune();
    if (!(score > threshold_)) return;
  }
  kept_[count_++] = {score, static_cast<int32_t>(position)};
}

// Leaves the k best. A later score must then beat the worst of them: an equal one loses by its position.
void TopK::prune() {
  Candidate* begin = kept_.data();
  std::nth_element(begin, begin + (k_ - 1), begin + count_, better);
  count_ = k_;
  threshold_ = begin[k_ - 1].score;
  bounded_ = true;
}

void TopK::push(const float* scores, int64_t n, int64_t first) {
  for (int64_t i = 0; i < n; ++i) {
    if (bounded_ && !(scores[i] > threshold_)) continue;  // a NaN, too, ends here
    add(std::isnan(scores[i]) ? -std::numeric_limits<float>::infinity() : scores[i], first + i);
  }
}

void TopK::merge(const TopK& other) {
  for (int64_t i = 0; i < other.count_; ++i) {
    const Candidate& candidate = other.kept_[i];
    if (bounded_ && !(candidate.score > threshold_)) continue;
    add(candidate.score, candidate.position);
  }
}

int64_t TopK::finish(int32_t* positions) {
  if (count_ > k_) prune();
  for (int64_t i = 0; i < count_; ++i) positions[i] = kept_[i].position;
  std::sort(positions, positions + count_);
  return count_;
}

}  // namespace indexshare::cpu
