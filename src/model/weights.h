// The model's weights: named views into a checkpoint, with the checkpoint's own names.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "formats/matrix.h"
#include "model/config.h"
#include "ops/backend.h"

namespace indexshare {

using Vector = std::vector<float>;  // norms and biases: small, held as f32

struct Linear {
  Matrix weight;
  Vector bias;  // empty: none
};

struct IndexerWeights {
  Matrix wq_b;           // [index_n_heads * index_head_dim, q_lora_rank]
  Matrix wk;             // [index_head_dim, hidden]
  Vector k_norm_weight;  // [index_head_dim]
  Vector k_norm_bias;    // [index_head_dim]
  Matrix weights_proj;   // [index_n_heads, hidden]
};

struct AttentionWeights {
  Linear q_a_proj;                        // [q_lora_rank, hidden]
  Vector q_a_layernorm;                   // [q_lora_rank]
  Matrix q_b_proj;                        // [heads * (nope + rope), q_lora_rank]
  Linear kv_a_proj_with_mqa;              // [kv_lora_rank + rope, hidden]
  Vector kv_a_layernorm;                  // [kv_lora_rank]
  Matrix kv_b_proj;                       // [heads * (nope + v), kv_lora_rank]
  Linear o_proj;                          // [hidden, heads * v]
  std::optional<IndexerWeights> indexer;  // on full layers only
};

struct MoeWeights {
  Matrix gate;                     // [experts, hidden]
  Vector e_score_correction_bias;  // [experts]
  std::vector<MlpWeights> experts;
  std::optional<MlpWeights> shared_experts;
};

struct LayerWeights {
  Vector input_layernorm, post_attention_layernorm;  // [hidden]
  AttentionWeights self_attn;
  std::optional<MlpWeights> mlp;  // exactly one of mlp and moe
  std::optional<MoeWeights> moe;
};

/// The multi-token-prediction layer, `model.layers.{num_hidden_layers}`.
struct MtpWeights {
  Vector enorm, hnorm, shared_head_norm;  // [hidden]
  Matrix eh_proj;                         // [hidden, 2 * hidden]
  LayerWeights layer;
};

struct Weights {
  Matrix embed_tokens;  // [vocab, hidden]
  std::vector<LayerWeights> layers;
  Vector norm;     // [hidden]
  Matrix lm_head;  // [vocab, hidden]; embed_tokens itself where tie_word_embeddings
  std::optional<MtpWeights> mtp;

  std::shared_ptr<const void> storage;  // keeps what the matrices point into alive
};

}  // namespace indexshare
