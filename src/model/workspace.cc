#include "model/workspace.h"

#include <algorithm>

namespace indexshare {
namespace {

// Calls use(view, rows, cols) for each view of activations in turn.
template <typename Use>
void for_each_view(Workspace& ws, const Config& c, int64_t rows, int64_t logit_count, Use use) {
  const int64_t heads = c.num_attention_heads;
  use(ws.x, rows, c.hidden_size);
  use(ws.h, rows, c.hidden_size);
  use(ws.out, rows, c.hidden_size);
  use(ws.hidden, rows, c.hidden_size);
  use(ws.q_latent, rows, c.q_lora_rank);
  use(ws.q, rows, heads * c.qk_head_dim());
  use(ws.kv, rows, c.latent_width());
  use(ws.latent_q, rows, heads * c.latent_width());
  use(ws.latent_out, rows, heads * c.kv_lora_rank);
  use(ws.values, rows, heads * c.v_head_dim);
  use(ws.index_q, rows, c.index_n_heads * c.index_head_dim);
  use(ws.index_k, rows, c.index_head_dim);
  use(ws.index_weights, rows, c.index_n_heads);
  use(ws.router_logits, rows, c.n_routed_experts);
  use(ws.rotation.cos, rows, c.qk_rope_head_dim / 2);
  use(ws.rotation.sin, rows, c.qk_rope_head_dim / 2);
  use(ws.logit_rows, logit_count, c.hidden_size);
}

}  // namespace

void Workspace::resize(const Config& config, int64_t rows, int64_t logit_count) {
  size_t used = 0;
  for_each_view(*this, config, rows, logit_count, [&](Tensor& view, int64_t view_rows, int64_t cols) {
    if (used == buffers_.size()) buffers_.emplace_back();
    Buffer<float>& buffer = buffers_[used++];
    buffer.resize(view_rows * cols);
    view = Tensor(buffer.data(), view_rows, cols);
  });
}

int64_t Workspace::bytes(const Config& config, int64_t rows, int64_t logit_count, int64_t context) {
  Workspace ws;
  int64_t total = Selection::bytes(rows, std::min(config.index_topk, context)) +
                  Routing::bytes(rows, config.num_experts_per_tok);
  for_each_view(ws, config, rows, logit_count, [&](Tensor&, int64_t view_rows, int64_t cols) {
    total += view_rows * cols * static_cast<int64_t>(sizeof(float));
  });
  return total;
}

}  // namespace indexshare
