// One ragged batch: what a forward pass works on, and the selection that IndexShare carries through it.
#pragma once

#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "cache/sequence.h"

namespace indexshare {

/// Consecutive tokens of one sequence inside a batch. The cache has already been extended by them.
struct Segment {
  SequenceCache* cache = nullptr;
  int64_t first_row = 0;  // of the batch
  int64_t rows = 0;
  int64_t position = 0;  // of the first token in its sequence
};

/// Prefill chunks, decode steps and draft verification differ only in their segments.
struct Batch {
  std::span<const int32_t> tokens;      // [T]
  std::span<const int32_t> positions;   // [T] each token's position in its sequence
  std::span<const int32_t> segment_of;  // [T] each token's segment
  std::span<const Segment> segments;
  std::span<const int32_t> logit_rows;  // the rows whose logits are wanted

  int64_t rows() const { return static_cast<int64_t>(tokens.size()); }
  const Segment& segment(int64_t row) const {
    return segments[static_cast<size_t>(segment_of[static_cast<size_t>(row)])];
  }
  int64_t position(int64_t row) const { return positions[static_cast<size_t>(row)]; }
};

/// The index that a full layer builds and the shared layers after it read: for each token of the batch, the
/// positions in its own sequence that it attends to, ascending. It belongs to one forward of one batch.
class Selection {
 public:
  /// Makes room for `rows` tokens of at most `width` positions each.
  void resize(int64_t rows, int64_t width) {
    width_ = width;
    positions_.resize(rows * width);
    counts_.resize(rows);
  }

  static int64_t bytes(int64_t rows, int64_t width) {
    return rows * (width + 1) * static_cast<int64_t>(sizeof(int32_t));
  }

  int64_t width() const { return width_; }
  int32_t* row(int64_t i) { return positions_.data() + i * width_; }
  void set_count(int64_t i, int64_t count) { counts_[i] = static_cast<int32_t>(count); }
  std::span<const int32_t> operator[](int64_t i) const {
    return {positions_.data() + i * width_, static_cast<size_t>(counts_[i])};
  }

 private:
  int64_t width_ = 0;
  Buffer<int32_t> positions_;  // [rows, width]
  Buffer<int32_t> counts_;     // [rows]
};

}  // namespace indexshare
