#include "cli/bench_fill.h"

#include <algorithm>

#include "base/error.h"

namespace indexshare::cli {
namespace {

constexpr int64_t kValues = int64_t{1} << 22;
constexpr int64_t kTokens = 2048;  // written at once, where so many rows can be had from the values

}  // namespace

CacheFiller::CacheFiller() : values_(static_cast<size_t>(kValues)), generator_(7) {
  std::normal_distribution<float> normal;
  std::mt19937 source(3);
  for (float& value : values_) value = normal(source);
}

Tensor CacheFiller::rows(int64_t count, int64_t cols) {
  const auto places = static_cast<uint64_t>(kValues - count * cols + 1);
  return {values_.data() + generator_() % places, count, cols};
}

Result<void> CacheFiller::fill(ModelRunner& runner, SequenceCache& cache, int64_t length) {
  cache.truncate(length);
  const CacheLayout& layout = cache.layout();
  const int64_t widest = std::max(layout.latent_width, layout.index_width);
  const int64_t most = std::clamp<int64_t>(kValues / 2 / widest, 1, kTokens);
  const std::vector<int32_t> tokens(static_cast<size_t>(most));
  while (cache.length() < length) {
    const int64_t count = std::min(most, length - cache.length());
    RETURN_IF_ERROR(cache.extend(count));
    BatchBuilder& builder = runner.builder();
    builder.clear();
    builder.add(cache, std::span(tokens).first(static_cast<size_t>(count)), LogitsFor::none);
    const Batch batch = builder.batch();
    Backend& backend = runner.model().backend();
    for (int64_t layer = 0; layer < layout.layers(); ++layer) {
      backend.append_latent(layer, batch, rows(count, layout.latent_width));
      if (layout.index_slot[static_cast<size_t>(layer)] >= 0) {
        backend.append_index_keys(layer, batch, rows(count, layout.index_width));
      }
    }
  }
  return {};
}

}  // namespace indexshare::cli
