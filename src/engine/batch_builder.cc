#include "engine/batch_builder.h"

namespace indexshare {

void BatchBuilder::clear() {
  tokens_.clear();
  positions_.clear();
  segment_of_.clear();
  logit_rows_.clear();
  segments_.clear();
}

void BatchBuilder::add(SequenceCache& cache, std::span<const int32_t> tokens, LogitsFor logits) {
  const auto first_row = static_cast<int64_t>(tokens_.size());
  const auto rows = static_cast<int64_t>(tokens.size());
  const int64_t position = cache.length() - rows;
  for (int64_t i = 0; i < rows; ++i) {
    tokens_.push_back(tokens[static_cast<size_t>(i)]);
    positions_.push_back(static_cast<int32_t>(position + i));
    segment_of_.push_back(static_cast<int32_t>(segments_.size()));
    if (logits == LogitsFor::all || (logits == LogitsFor::last && i + 1 == rows)) {
      logit_rows_.push_back(static_cast<int32_t>(first_row + i));
    }
  }
  segments_.push_back({&cache, first_row, rows, position});
}

Batch BatchBuilder::batch() const {
  return {.tokens = tokens_,
          .positions = positions_,
          .segment_of = segment_of_,
          .segments = segments_,
          .logit_rows = logit_rows_};
}

}  // namespace indexshare
