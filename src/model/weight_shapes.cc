#include "model/weight_shapes.h"

namespace indexshare {
namespace {

Vector ones(int64_t n) {
  return Vector(static_cast<size_t>(n), 1.0f);
}
Vector zeros(int64_t n) {
  return Vector(static_cast<size_t>(n), 0.0f);
}

class Shapes {
 public:
  Shapes(const Config& config, DType dtype) : c_(config), dtype_(dtype) {}

  Matrix matrix(int64_t rows, int64_t cols) const {
    Matrix m{.dtype = dtype_, .rows = rows, .cols = cols};
    if (dtype_ == DType::fp8_e4m3) {
      m.block_rows = c_.fp8_block_rows;
      m.block_cols = c_.fp8_block_cols;
    }
    return m;
  }

  // One that fp8 checkpoints leave in bf16.
  Matrix precise(int64_t rows, int64_t cols) const {
    return {.dtype = dtype_ == DType::fp8_e4m3 ? DType::bf16 : dtype_, .rows = rows, .cols = cols};
  }

  LayerWeights layer(bool full, bool sparse) const {
    LayerWeights w;
    w.input_layernorm = w.post_attention_layernorm = ones(c_.hidden_size);
    w.self_attn = attention(full);
    if (sparse) {
      w.moe = experts();
    } else {
      w.mlp = mlp(c_.intermediate_size);
    }
    return w;
  }

 private:
  Linear linear(int64_t rows, int64_t cols) const {
    return {.weight = matrix(rows, cols), .bias = c_.attention_bias ? zeros(rows) : Vector()};
  }

  MlpWeights mlp(int64_t intermediate) const {
    return {.gate_proj = matrix(intermediate, c_.hidden_size),
            .up_proj = matrix(intermediate, c_.hidden_size),
            .down_proj = matrix(c_.hidden_size, intermediate)};
  }

  AttentionWeights attention(bool full) const {
    const int64_t heads = c_.num_attention_heads;
    AttentionWeights w;
    w.q_a_proj = linear(c_.q_lora_rank, c_.hidden_size);
    w.q_a_layernorm = ones(c_.q_lora_rank);
    w.q_b_proj = matrix(heads * c_.qk_head_dim(), c_.q_lora_rank);
    w.kv_a_proj_with_mqa = linear(c_.latent_width(), c_.hidden_size);
    w.kv_a_layernorm = ones(c_.kv_lora_rank);
    w.kv_b_proj = matrix(heads * (c_.qk_nope_head_dim + c_.v_head_dim), c_.kv_lora_rank);
    w.o_proj = linear(c_.hidden_size, heads * c_.v_head_dim);
    if (full) {
      w.indexer = {.wq_b = matrix(c_.index_n_heads * c_.index_head_dim, c_.q_lora_rank),
                   .wk = matrix(c_.index_head_dim, c_.hidden_size),
                   .k_norm_weight = ones(c_.index_head_dim),
                   .k_norm_bias = zeros(c_.index_head_dim),
                   .weights_proj = precise(c_.index_n_heads, c_.hidden_size)};
    }
    return w;
  }

  MoeWeights experts() const {
    MoeWeights w;
    w.gate = precise(c_.n_routed_experts, c_.hidden_size);
    w.e_score_correction_bias = zeros(c_.n_routed_experts);
    w.experts.assign(static_cast<size_t>(c_.n_routed_experts), mlp(c_.moe_intermediate_size));
    if (c_.n_shared_experts > 0) w.shared_experts = mlp(c_.moe_intermediate_size * c_.n_shared_experts);
    return w;
  }

  const Config& c_;
  DType dtype_;
};

using MatrixBody = FunctionRef<void(Matrix& matrix)>;

void for_each_matrix(MlpWeights& w, MatrixBody body) {
  for (Matrix* matrix : {&w.gate_proj, &w.up_proj, &w.down_proj}) body(*matrix);
}

void for_each_matrix(LayerWeights& w, MatrixBody body) {
  AttentionWeights& a = w.self_attn;
  for (Matrix* matrix :
       {&a.q_a_proj.weight, &a.q_b_proj, &a.kv_a_proj_with_mqa.weight, &a.kv_b_proj, &a.o_proj.weight}) {
    body(*matrix);
  }
  if (a.indexer) {
    for (Matrix* matrix : {&a.indexer->wq_b, &a.indexer->wk, &a.indexer->weights_proj}) body(*matrix);
  }
  if (w.mlp) for_each_matrix(*w.mlp, body);
  if (!w.moe) return;
  body(w.moe->gate);
  for (MlpWeights& expert : w.moe->experts) for_each_matrix(expert, body);
  if (w.moe->shared_experts) for_each_matrix(*w.moe->shared_experts, body);
}

}  // namespace

Weights weight_shapes(const Config& config, DType dtype) {
  const Shapes shapes(config, dtype);
  Weights weights;
  weights.embed_tokens = weights.lm_head = shapes.precise(config.vocab_size, config.hidden_size);
  for (size_t layer = 0; layer < config.indexer_full.size(); ++layer) {
    weights.layers.push_back(shapes.layer(config.indexer_full[layer], config.mlp_sparse[layer]));
  }
  weights.norm = ones(config.hidden_size);
  if (config.num_nextn_predict_layers > 0) {
    MtpWeights& mtp = weights.mtp.emplace();
    mtp.enorm = mtp.hnorm = mtp.shared_head_norm = ones(config.hidden_size);
    mtp.eh_proj = shapes.precise(config.hidden_size, 2 * config.hidden_size);
    mtp.layer = shapes.layer(/*full=*/true, /*sparse=*/true);
  }
  return weights;
}

void for_each_matrix(Weights& weights, FunctionRef<void(Matrix& matrix)> body) {
  body(weights.embed_tokens);
  for (LayerWeights& layer : weights.layers) for_each_matrix(layer, body);
  if (weights.mtp) {
    body(weights.mtp->eh_proj);
    for_each_matrix(weights.mtp->layer, body);
  }
  body(weights.lm_head);
}

}  // namespace indexshare
