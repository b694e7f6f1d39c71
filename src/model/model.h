// The model: configuration, weights and the forward pass.
#pragma once

#include <vector>

#include "model/config.h"
#include "model/weights.h"
#include "model/workspace.h"
#include "ops/backend.h"

namespace indexshare {

/// Watches a forward pass; for `indexshare dump` and for tests.
class Probe {
 public:
  virtual ~Probe() = default;
  /// The residual stream [T, hidden]: stage 0 the embedding, l + 1 after layer l, layers + 1 after the last
  /// norm.
  virtual void hidden(int64_t stage, Tensor x) = 0;
  /// What a full layer selected.
  virtual void selection(int64_t layer, const Selection& selection) = 0;
  /// Where a sparse layer's router sent the tokens.
  virtual void routing(int64_t layer, const Routing& routing) = 0;
};

/// The heads of a model's attention, and what its cache looks like.
HeadShape head_shape(const Config& config);
CacheLayout cache_layout(const Config& config, DType dtype, IndexKeys index_keys = IndexKeys::plain);

/// Immutable but for the backend's own scratch; one forward at a time.
class Model {
 public:
  /// `backend` must outlive the model.
  Model(Config config, Weights weights, Backend& backend);

  const Config& config() const { return config_; }
  const Weights& weights() const { return weights_; }
  Backend& backend() const { return *ops_; }

  /// Runs all tokens of the batch and writes the logits of batch.logit_rows, [logit rows, vocab]. The caches
  /// of its sequences must have been extended by the batch's tokens. It cannot fail.
  void forward(const Batch& batch, Workspace& ws, Tensor logits, Probe* probe = nullptr) const;

 private:
  void attention(int64_t layer, const Batch& batch, Workspace& ws) const;
  void build_index(int64_t layer, const Batch& batch, Workspace& ws) const;
  void experts(const LayerWeights& w, Workspace& ws) const;

  Config config_;
  Weights weights_;
  Backend* ops_;
  std::vector<float> inverse_frequencies_;  // of the rotary embedding
};

}  // namespace indexshare
