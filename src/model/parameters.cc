#include "model/parameters.h"

namespace indexshare {
namespace {

int64_t attention_parameters(const Config& c) {
  const int64_t heads = c.num_attention_heads;
  const int64_t q = c.q_lora_rank * (c.hidden_size + 1 + heads * c.qk_head_dim());
  const int64_t kv =
      c.latent_width() * c.hidden_size + c.kv_lora_rank * (1 + heads * (c.qk_nope_head_dim + c.v_head_dim));
  const int64_t o = c.hidden_size * heads * c.v_head_dim;
  const int64_t biases = c.attention_bias ? c.q_lora_rank + c.latent_width() + c.hidden_size : 0;
  return q + kv + o + biases;
}

int64_t indexer_parameters(const Config& c) {
  const int64_t wq_b = c.index_n_heads * c.index_head_dim * c.q_lora_rank;
  const int64_t wk_and_norm = c.index_head_dim * (c.hidden_size + 2);
  return wq_b + wk_and_norm + c.index_n_heads * c.hidden_size;
}

int64_t mlp_parameters(const Config& c, int64_t intermediate) {
  return 3 * c.hidden_size * intermediate;
}

/// The residual stream's two norms of a layer.
int64_t norm_parameters(const Config& c) {
  return 2 * c.hidden_size;
}

void add_sparse_layer(const Config& c, ParameterCount& count) {
  const int64_t expert = mlp_parameters(c, c.moe_intermediate_size);
  count.router += c.n_routed_experts * (c.hidden_size + 1);
  count.routed_experts += c.n_routed_experts * expert;
  count.active_experts += c.num_experts_per_tok * expert;
  count.shared_experts += c.n_shared_experts * expert;
}

int64_t mtp_parameters(const Config& c) {
  ParameterCount layer;
  add_sparse_layer(c, layer);
  const int64_t joint = 2 * c.hidden_size * c.hidden_size + 3 * c.hidden_size;  // eh_proj and its norms
  return layer.total() + attention_parameters(c) + indexer_parameters(c) + norm_parameters(c) + joint;
}

int64_t bytes(const Vector& vector) {
  return std::ssize(vector) * static_cast<int64_t>(sizeof(float));
}

int64_t bytes(const Matrix& matrix) {
  int64_t total = matrix.rows * matrix.row_bytes();
  if (matrix.dtype == DType::fp8_e4m3) {
    total += matrix.scale_rows() * matrix.scale_cols() * static_cast<int64_t>(sizeof(float));
  }
  return total;
}

int64_t bytes(const Linear& linear) {
  return bytes(linear.weight) + bytes(linear.bias);
}

int64_t bytes(const MlpWeights& mlp) {
  return bytes(mlp.gate_proj) + bytes(mlp.up_proj) + bytes(mlp.down_proj);
}

int64_t bytes(const AttentionWeights& w) {  // without the indexer
  return bytes(w.q_a_proj) + bytes(w.q_a_layernorm) + bytes(w.q_b_proj) + bytes(w.kv_a_proj_with_mqa) +
         bytes(w.kv_a_layernorm) + bytes(w.kv_b_proj) + bytes(w.o_proj);
}

int64_t bytes(const IndexerWeights& w) {
  return bytes(w.wq_b) + bytes(w.wk) + bytes(w.k_norm_weight) + bytes(w.k_norm_bias) + bytes(w.weights_proj);
}

void add_layer(const Config& config, const LayerWeights& w, WeightBytes& sum) {
  sum.norms += bytes(w.input_layernorm) + bytes(w.post_attention_layernorm);
  sum.attention += bytes(w.self_attn);
  if (w.self_attn.indexer) sum.indexer += bytes(*w.self_attn.indexer);
  if (w.mlp) sum.dense_mlp += bytes(*w.mlp);
  if (!w.moe) return;
  sum.router += bytes(w.moe->gate) + bytes(w.moe->e_score_correction_bias);
  if (w.moe->shared_experts) sum.shared_experts += bytes(*w.moe->shared_experts);
  int64_t experts = 0;
  for (const MlpWeights& expert : w.moe->experts) experts += bytes(expert);
  sum.routed_experts += experts;
  sum.active_per_token += experts / std::ssize(w.moe->experts) * config.num_experts_per_tok;
}

}  // namespace

int64_t ParameterCount::total() const {
  return embed_tokens + lm_head - tied + attention + indexer + dense_mlp + router + routed_experts +
         shared_experts + norms;
}

int64_t ParameterCount::active() const {
  return lm_head + attention + indexer + dense_mlp + router + active_experts + shared_experts + norms;
}

ParameterCount count_parameters(const Config& config) {
  ParameterCount count;
  count.embed_tokens = count.lm_head = config.vocab_size * config.hidden_size;
  if (config.tie_word_embeddings) count.tied = count.lm_head;
  count.attention = config.num_hidden_layers * attention_parameters(config);
  count.indexer = config.full_layers() * indexer_parameters(config);
  for (const bool sparse : config.mlp_sparse) {
    if (sparse) {
      add_sparse_layer(config, count);
    } else {
      count.dense_mlp += mlp_parameters(config, config.intermediate_size);
    }
  }
  count.norms = config.num_hidden_layers * norm_parameters(config) + config.hidden_size;
  if (config.num_nextn_predict_layers > 0) count.mtp = mtp_parameters(config);
  return count;
}

int64_t WeightBytes::total() const {
  return embed_tokens + lm_head + attention + indexer + dense_mlp + router + routed_experts + shared_experts +
         norms;
}

WeightBytes weight_bytes(const Config& config, const Weights& weights) {
  WeightBytes sum;
  for (const LayerWeights& layer : weights.layers) add_layer(config, layer, sum);
  sum.norms += bytes(weights.norm);
  sum.embed_tokens = bytes(weights.embed_tokens);
  if (!config.tie_word_embeddings) sum.lm_head = bytes(weights.lm_head);
  sum.active_per_token += weights.embed_tokens.row_bytes() + bytes(weights.lm_head) + sum.attention +
                          sum.indexer + sum.dense_mlp + sum.router + sum.shared_experts + sum.norms;
  if (weights.mtp) {
    const MtpWeights& mtp = *weights.mtp;
    WeightBytes layer;
    add_layer(config, mtp.layer, layer);
    sum.mtp = bytes(mtp.enorm) + bytes(mtp.hnorm) + bytes(mtp.shared_head_norm) + bytes(mtp.eh_proj) +
              layer.total();
  }
  return sum;
}

}  // namespace indexshare
