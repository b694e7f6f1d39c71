// Assembles the ragged batch of one forward pass.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/batch.h"

namespace indexshare {

/// Which of a segment's tokens want logits.
enum class LogitsFor : uint8_t { none, last, all };

/// Keeps its memory from batch to batch.
class BatchBuilder {
 public:
  void clear();

  /// Adds the next tokens of a sequence, by which its cache has just been extended.
  void add(SequenceCache& cache, std::span<const int32_t> tokens, LogitsFor logits);

  /// Valid until the next change.
  Batch batch() const;

 private:
  std::vector<int32_t> tokens_, positions_, segment_of_, logit_rows_;
  std::vector<Segment> segments_;
};

}  // namespace indexshare
