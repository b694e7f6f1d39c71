// The forward pass of GLM-5 (MODEL: section 3). T is the number of tokens in the batch.
#include <algorithm>
#include <cmath>

#include "model/model.h"

namespace indexshare {
namespace {

constexpr float kIndexNormEps = 1e-6f;  // of indexer.k_norm; no config key

}  // namespace

void Model::forward(const Batch& batch, Workspace& ws, Tensor logits, Probe* probe) const {
  PartScope scope(ops_->profile(), Part::other);
  ws.resize(config_, batch.rows(), static_cast<int64_t>(batch.logit_rows.size()));
  ops_->rotation(batch.positions, inverse_frequencies_, ws.rotation);
  ops_->embed(weights_.embed_tokens, batch.tokens, ws.x);
  if (probe) probe->hidden(0, ws.x);

  for (int64_t layer = 0; layer < config_.num_hidden_layers; ++layer) {
    const LayerWeights& w = weights_.layers[static_cast<size_t>(layer)];
    ops_->rms_norm(ws.x, w.input_layernorm, config_.rms_norm_eps, ws.h);
    attention(layer, batch, ws);  // h -> out
    ops_->add(ws.out, ws.x);
    ops_->rms_norm(ws.x, w.post_attention_layernorm, config_.rms_norm_eps, ws.h);
    experts(w, ws);  // h -> out
    ops_->add(ws.out, ws.x);
    if (probe) {
      probe->hidden(layer + 1, ws.x);
      if (w.self_attn.indexer) probe->selection(layer, ws.selection);
      if (w.moe) probe->routing(layer, ws.routing);
    }
  }

  ops_->rms_norm(ws.x, weights_.norm, config_.rms_norm_eps, ws.hidden);
  if (probe) probe->hidden(config_.num_hidden_layers + 1, ws.hidden);
  PartScope head(ops_->profile(), Part::head);
  for (int64_t i = 0; i < ws.logit_rows.rows; ++i) {
    std::copy_n(ws.hidden.row(batch.logit_rows[static_cast<size_t>(i)]), ws.hidden.cols,
                ws.logit_rows.row(i));
  }
  ops_->linear(ws.logit_rows, weights_.lm_head, {}, Rounding::activation, logits);
}

// Multi-head latent attention over the selected tokens (3.1, 3.4): h -> out.
void Model::attention(int64_t layer, const Batch& batch, Workspace& ws) const {
  const AttentionWeights& w = weights_.layers[static_cast<size_t>(layer)].self_attn;
  const HeadShape shape = head_shape(config_);
  PartScope projections(ops_->profile(), Part::projections);
  ops_->linear(ws.h, w.q_a_proj.weight, w.q_a_proj.bias, Rounding::activation, ws.q_latent);
  ops_->rms_norm(ws.q_latent, w.q_a_layernorm, config_.latent_norm_eps, ws.q_latent);
  ops_->linear(ws.q_latent, w.q_b_proj, {}, Rounding::activation, ws.q);
  ops_->rope(ws.rotation, RopePairs::interleaved, shape.heads, config_.qk_head_dim(),
             ws.q.columns(shape.nope, ws.q.cols - shape.nope));

  ops_->linear(ws.h, w.kv_a_proj_with_mqa.weight, w.kv_a_proj_with_mqa.bias, Rounding::activation, ws.kv);
  const Tensor c = ws.kv.columns(0, shape.latent);
  ops_->rms_norm(c, w.kv_a_layernorm, config_.latent_norm_eps, c);
  ops_->rope(ws.rotation, RopePairs::interleaved, 1, shape.rope, ws.kv.columns(shape.latent, shape.rope));
  ops_->append_latent(layer, batch, ws.kv);

  if (w.indexer) build_index(layer, batch, ws);  // else: the selection of the last full layer stands

  ops_->absorb_queries(shape, ws.q, w.kv_b_proj, ws.latent_q);
  {
    PartScope attention(ops_->profile(), Part::attention);
    const float scale = 1.0f / std::sqrt(static_cast<float>(config_.qk_head_dim()));
    ops_->sparse_attention(layer, batch, shape, ws.latent_q, ws.selection, scale, ws.latent_out);
  }
  ops_->project_values(shape, ws.latent_out, w.kv_b_proj, ws.values);
  ops_->linear(ws.values, w.o_proj.weight, w.o_proj.bias, Rounding::activation, ws.out);
}

// The lightning indexer (3.3): h and q_latent -> selection.
void Model::build_index(int64_t layer, const Batch& batch, Workspace& ws) const {
  PartScope index(ops_->profile(), Part::index);
  const IndexerWeights& w = *weights_.layers[static_cast<size_t>(layer)].self_attn.indexer;
  const RopePairs pairs = config_.indexer_rope_interleave ? RopePairs::interleaved : RopePairs::halves;
  ops_->linear(ws.h, w.wk, {}, Rounding::activation, ws.index_k);
  ops_->layer_norm(ws.index_k, w.k_norm_weight, w.k_norm_bias, kIndexNormEps, ws.index_k);
  ops_->rope(ws.rotation, pairs, 1, config_.index_head_dim, ws.index_k);
  ops_->append_index_keys(layer, batch, ws.index_k);

  // The formula's positive factors index_head_dim^-0.5 and index_n_heads^-0.5 change no selection.
  ops_->linear(ws.q_latent, w.wq_b, {}, Rounding::activation, ws.index_q);
  ops_->rope(ws.rotation, pairs, config_.index_n_heads, config_.index_head_dim, ws.index_q);
  ops_->linear(ws.h, w.weights_proj, {}, Rounding::exact, ws.index_weights);
  ops_->select_top_k(layer, batch, ws.index_q, ws.index_weights, config_.index_topk, ws.selection);
}

// A dense MLP, or the routed and shared experts (3.5): h -> out.
void Model::experts(const LayerWeights& w, Workspace& ws) const {
  PartScope scope(ops_->profile(), Part::experts);
  if (w.mlp) return ops_->mlp(ws.h, *w.mlp, ws.out);
  const RouterShape router = {.groups = config_.n_group,
                              .kept_groups = config_.topk_group,
                              .experts_per_token = config_.num_experts_per_tok,
                              .normalise = config_.norm_topk_prob,
                              .scaling = config_.routed_scaling_factor};
  ops_->linear(ws.h, w.moe->gate, {}, Rounding::exact, ws.router_logits);
  ops_->route(ws.router_logits, w.moe->e_score_correction_bias, router, ws.routing);
  ops_->experts(ws.h, w.moe->experts, ws.routing, w.moe->shared_experts ? &*w.moe->shared_experts : nullptr,
                ws.out);
}

}  // namespace indexshare
