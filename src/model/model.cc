#include "model/model.h"

#include <cmath>
#include <utility>

namespace indexshare {

Model::Model(Config config, Weights weights, Backend& backend)
    : config_(std::move(config)), weights_(std::move(weights)), ops_(&backend) {
  const int64_t dim = config_.qk_rope_head_dim;
  for (int64_t i = 0; i < dim; i += 2) {
    const double exponent = static_cast<double>(i) / static_cast<double>(dim);
    inverse_frequencies_.push_back(
        static_cast<float>(1.0 / std::pow(static_cast<double>(config_.rope_theta), exponent)));
  }
}

HeadShape head_shape(const Config& config) {
  return {.heads = config.num_attention_heads,
          .nope = config.qk_nope_head_dim,
          .rope = config.qk_rope_head_dim,
          .value = config.v_head_dim,
          .latent = config.kv_lora_rank};
}

CacheLayout cache_layout(const Config& config, DType dtype, IndexKeys index_keys) {
  return {dtype, config.latent_width(), config.index_head_dim, config.indexer_full, index_keys};
}

}  // namespace indexshare
