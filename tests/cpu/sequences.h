// Sequences in a paged cache and batches of their tokens.
#pragma once

#include <deque>
#include <vector>

#include "cache/sequence.h"
#include "ops/batch.h"

namespace indexshare::cpu {

/// A batch and what it refers to.
struct OwnedBatch {
  std::vector<int32_t> tokens, positions, segment_of;
  std::vector<Segment> segments;

  void add(SequenceCache& cache, int64_t position, int64_t rows);
  Batch view() const {
    return {.tokens = tokens,
            .positions = positions,
            .segment_of = segment_of,
            .segments = segments,
            .logit_rows = {}};
  }
};

/// Caches that were extended page by page in turns, so that no sequence has its pages in one run.
class Sequences {
 public:
  Sequences(const CacheLayout& layout, const std::vector<int64_t>& lengths);

  SequenceCache& operator[](size_t i) { return caches_[i]; }

  /// The last `rows` tokens of every sequence, or all of those that are shorter.
  OwnedBatch last(int64_t rows);
  /// All tokens of all sequences.
  OwnedBatch all();

 private:
  PagePool pool_;
  std::deque<SequenceCache> caches_;
};

}  // namespace indexshare::cpu
