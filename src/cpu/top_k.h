// The k largest of a stream of scores.
#pragma once

#include <cstdint>

#include "base/buffer.h"

namespace indexshare::cpu {

/// Keeps the k best (score, position) pairs of those pushed so far: the higher score first, of equal scores
/// the lower position; NaN counts as minus infinity. What is kept does not depend on how the stream was cut.
class TopK {
 public:
  void reset(int64_t k);

  /// Scores of the consecutive positions first, first + 1, ...; positions must come in ascending order.
  void push(const float* scores, int64_t n, int64_t first);

  /// Whether k scores have been pushed that a further one must exceed.
  bool is_full() const { return bounded_; }
  /// A score that at least k of those pushed so far reach; where is_full().
  float worst_score() const { return worst_.score; }

  /// Takes over what another one kept, of positions after all of this one's.
  void merge(const TopK& other);

  /// Writes the kept positions in ascending order and returns how many they are (k, or all that were pushed).
  int64_t finish(int32_t* positions);

 private:
  struct Candidate {
    float score;
    int32_t position;
  };
  static bool better(const Candidate& a, const Candidate& b);
  void add(Candidate candidate);
  void prune();

  int64_t k_ = 0;
  int64_t count_ = 0;
  Candidate worst_{};       // of the k best so far: only better ones matter
  bool bounded_ = false;    // whether worst_ is in force
  Buffer<Candidate> kept_;  // [2 k]
};

}  // namespace indexshare::cpu
