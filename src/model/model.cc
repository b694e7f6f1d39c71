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

CacheLayout Model::cache_layout(DType dtype) const {
  return {dtype, config_.latent_width(), config_.index_head_dim, config_.indexer_full};
}

}  // namespace indexshare
