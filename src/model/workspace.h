// The activations of one forward pass. Buffers grow to the largest batch seen and are then reused.
#pragma once

#include <vector>

#include "base/buffer.h"
#include "base/tensor.h"
#include "model/config.h"
#include "ops/backend.h"

namespace indexshare {

/// Views over buffers of `rows` tokens; names are those of the paper (MODEL: section 3).
struct Workspace {
  Tensor x;       // [T, hidden] the residual stream
  Tensor h;       // [T, hidden] its norm, what each block reads
  Tensor out;     // [T, hidden] what each block adds
  Tensor hidden;  // [T, hidden] after the last norm

  Tensor q_latent;    // [T, q_lora_rank]
  Tensor q;           // [T, heads * (nope + rope)]
  Tensor kv;          // [T, kv_lora_rank + rope] latent c and rope key k_r, as the cache holds them
  Tensor latent_q;    // [T, heads * (kv_lora_rank + rope)]
  Tensor latent_out;  // [T, heads * kv_lora_rank]
  Tensor values;      // [T, heads * v]

  Tensor index_q;        // [T, index_n_heads * index_head_dim]
  Tensor index_k;        // [T, index_head_dim]
  Tensor index_weights;  // [T, index_n_heads]
  Selection selection;   // written by a full layer, read by the shared layers after it

  Tensor router_logits;  // [T, n_routed_experts]
  Routing routing;

  Rotation rotation;  // [T, rope / 2]
  Tensor logit_rows;  // [logits wanted, hidden]

  /// Sets every view to a batch of `rows` tokens of which `logit_count` want logits.
  void resize(const Config& config, int64_t rows, int64_t logit_count);

  /// What all of it takes for such a batch whose longest sequence has `context` tokens.
  static int64_t bytes(const Config& config, int64_t rows, int64_t logit_count, int64_t context);

 private:
  std::vector<Buffer<float>> buffers_;
};

}  // namespace indexshare
