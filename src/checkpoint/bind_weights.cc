#include "checkpoint/bind_weights.h"

#include <utility>

#include "base/error.h"
#include "checkpoint/tensor_binder.h"

namespace indexshare {
namespace {

/// Binds the parts of a model, each under a prefix of the checkpoint's names.
class ModelBinder {
 public:
  ModelBinder(const Config& config, TensorBinder& tensors) : config_(config), tensors_(tensors) {}

  LayerWeights layer(const std::string& prefix, bool full, bool sparse) {
    LayerWeights weights;
    weights.input_layernorm = hidden_vector(prefix + "input_layernorm.weight");
    weights.post_attention_layernorm = hidden_vector(prefix + "post_attention_layernorm.weight");
    weights.self_attn = attention(prefix + "self_attn.", full);
    if (sparse) {
      weights.moe = experts(prefix + "mlp.");
    } else {
      weights.mlp = mlp(prefix + "mlp.", config_.intermediate_size);
    }
    tensors_.ignore(prefix + "self_attn.rotary_emb.inv_freq");  // a buffer of older exporters
    return weights;
  }

  /// Nothing where the checkpoint comes without it.
  std::optional<MtpWeights> mtp(const std::string& prefix) {
    tensors_.ignore(prefix + "embed_tokens.weight");      // copies, in some files,
    tensors_.ignore(prefix + "shared_head.head.weight");  // of what the main model has
    if (config_.num_nextn_predict_layers == 0) {
      if (tensors_.has(prefix + "eh_proj.weight")) tensors_.ignore_prefix(prefix);  // switched off
      return std::nullopt;
    }
    if (!tensors_.has_prefix(prefix)) return std::nullopt;
    MtpWeights weights;
    weights.enorm = hidden_vector(prefix + "enorm.weight");
    weights.hnorm = hidden_vector(prefix + "hnorm.weight");
    weights.shared_head_norm = hidden_vector(prefix + "shared_head.norm.weight");
    weights.eh_proj =
        tensors_.matrix(prefix + "eh_proj.weight", config_.hidden_size, 2 * config_.hidden_size);
    weights.layer = layer(prefix, /*full=*/true, /*sparse=*/true);
    return weights;
  }

  Vector hidden_vector(const std::string& name) { return tensors_.vector(name, config_.hidden_size); }

 private:
  Linear linear(const std::string& prefix, int64_t rows, int64_t cols) {
    Linear linear{.weight = tensors_.matrix(prefix + "weight", rows, cols), .bias = {}};
    if (config_.attention_bias) linear.bias = tensors_.vector(prefix + "bias", rows);
    return linear;
  }

  AttentionWeights attention(const std::string& prefix, bool full) {
    const Config& c = config_;
    const int64_t heads = c.num_attention_heads;
    AttentionWeights weights;
    weights.q_a_proj = linear(prefix + "q_a_proj.", c.q_lora_rank, c.hidden_size);
    weights.q_a_layernorm = tensors_.vector(prefix + "q_a_layernorm.weight", c.q_lora_rank);
    weights.q_b_proj = tensors_.matrix(prefix + "q_b_proj.weight", heads * c.qk_head_dim(), c.q_lora_rank);
    weights.kv_a_proj_with_mqa = linear(prefix + "kv_a_proj_with_mqa.", c.latent_width(), c.hidden_size);
    weights.kv_a_layernorm = tensors_.vector(prefix + "kv_a_layernorm.weight", c.kv_lora_rank);
    weights.kv_b_proj = tensors_.matrix(prefix + "kv_b_proj.weight",
                                        heads * (c.qk_nope_head_dim + c.v_head_dim), c.kv_lora_rank);
    weights.o_proj = linear(prefix + "o_proj.", c.hidden_size, heads * c.v_head_dim);
    if (full) {
      weights.indexer = indexer(prefix + "indexer.");
    } else {
      tensors_.ignore_prefix(prefix + "indexer.");  // some exporters copy the full layer's into shared ones
    }
    return weights;
  }

  IndexerWeights indexer(const std::string& prefix) {
    const Config& c = config_;
    IndexerWeights weights;
    weights.wq_b = tensors_.matrix(prefix + "wq_b.weight", c.index_n_heads * c.index_head_dim, c.q_lora_rank);
    weights.wk = tensors_.matrix(prefix + "wk.weight", c.index_head_dim, c.hidden_size);
    weights.k_norm_weight = tensors_.vector(prefix + "k_norm.weight", c.index_head_dim);
    weights.k_norm_bias = tensors_.vector(prefix + "k_norm.bias", c.index_head_dim);
    weights.weights_proj = tensors_.matrix(prefix + "weights_proj.weight", c.index_n_heads, c.hidden_size);
    return weights;
  }

  MlpWeights mlp(const std::string& prefix, int64_t intermediate) {
    const int64_t hidden = config_.hidden_size;
    return {.gate_proj = tensors_.matrix(prefix + "gate_proj.weight", intermediate, hidden),
            .up_proj = tensors_.matrix(prefix + "up_proj.weight", intermediate, hidden),
            .down_proj = tensors_.matrix(prefix + "down_proj.weight", hidden, intermediate)};
  }

  MoeWeights experts(const std::string& prefix) {
    const Config& c = config_;
    MoeWeights weights;
    weights.gate = tensors_.matrix(prefix + "gate.weight", c.n_routed_experts, c.hidden_size);
    weights.e_score_correction_bias =
        tensors_.vector(prefix + "gate.e_score_correction_bias", c.n_routed_experts);
    if (tensors_.has(prefix + "experts.gate_up_proj")) {
      weights.experts = fused_experts(prefix + "experts.");
    } else {
      for (int64_t e = 0; e < c.n_routed_experts; ++e) {
        weights.experts.push_back(mlp(fmt::format("{}experts.{}.", prefix, e), c.moe_intermediate_size));
      }
    }
    if (c.n_shared_experts > 0) {
      weights.shared_experts = mlp(prefix + "shared_experts.", c.moe_intermediate_size * c.n_shared_experts);
    }
    return weights;
  }

  /// All experts in two tensors, as transformers holds them in memory: the rows of gate_proj and up_proj of
  /// an expert are consecutive, so that [E, 2I, D] reads as [2E, I, D].
  std::vector<MlpWeights> fused_experts(const std::string& prefix) {
    const Config& c = config_;
    const int64_t width = c.moe_intermediate_size;
    const std::vector<Matrix> gate_up =
        tensors_.matrices(prefix + "gate_up_proj", c.n_routed_experts, 2 * width, c.hidden_size);
    const std::vector<Matrix> down =
        tensors_.matrices(prefix + "down_proj", c.n_routed_experts, c.hidden_size, width);
    std::vector<MlpWeights> experts;
    for (size_t e = 0; e < gate_up.size(); ++e) {
      MlpWeights& expert = experts.emplace_back(MlpWeights{gate_up[e], gate_up[e], down[e]});
      expert.gate_proj.rows = expert.up_proj.rows = width;
      if (gate_up[e]) expert.up_proj.data = gate_up[e].row(width);
    }
    return experts;
  }

  const Config& config_;
  TensorBinder& tensors_;
};

}  // namespace

Result<Weights> bind_weights(const Config& config, std::shared_ptr<const Checkpoint> checkpoint) {
  TensorBinder tensors(std::move(checkpoint), config.fp8_block_rows, config.fp8_block_cols);
  ModelBinder binder(config, tensors);
  const auto prefix = [](int64_t layer) { return fmt::format("model.layers.{}.", layer); };

  Weights weights;
  weights.embed_tokens = tensors.matrix("model.embed_tokens.weight", config.vocab_size, config.hidden_size);
  for (int64_t i = 0; i < config.num_hidden_layers; ++i) {
    const auto layer = static_cast<size_t>(i);
    weights.layers.push_back(binder.layer(prefix(i), config.indexer_full[layer], config.mlp_sparse[layer]));
  }
  weights.norm = binder.hidden_vector("model.norm.weight");
  if (config.tie_word_embeddings) {
    weights.lm_head = weights.embed_tokens;
    tensors.ignore("lm_head.weight");
  } else {
    weights.lm_head = tensors.matrix("lm_head.weight", config.vocab_size, config.hidden_size);
  }
  weights.mtp = binder.mtp(prefix(config.num_hidden_layers));
  tensors.ignore("model.rotary_emb.inv_freq");
  RETURN_IF_ERROR(tensors.check());
  weights.storage = tensors.storage();
  return weights;
}

}  // namespace indexshare
