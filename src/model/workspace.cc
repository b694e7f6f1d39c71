#include "model/workspace.h"

namespace indexshare {

void Workspace::resize(const Config& c, int64_t rows, int64_t logit_count) {
  struct Shape {
    Tensor& view;
    int64_t rows;
    int64_t cols;
  };
  const int64_t half = c.qk_rope_head_dim / 2;
  const Shape shapes[] = {
      {x, rows, c.hidden_size},
      {h, rows, c.hidden_size},
      {out, rows, c.hidden_size},
      {hidden, rows, c.hidden_size},
      {q_latent, rows, c.q_lora_rank},
      {q, rows, c.num_attention_heads * c.qk_head_dim()},
      {kv, rows, c.latent_width()},
      {latent_q, rows, c.num_attention_heads * c.latent_width()},
      {latent_out, rows, c.num_attention_heads * c.kv_lora_rank},
      {values, rows, c.num_attention_heads * c.v_head_dim},
      {index_q, rows, c.index_n_heads * c.index_head_dim},
      {index_k, rows, c.index_head_dim},
      {index_weights, rows, c.index_n_heads},
      {router_logits, rows, c.n_routed_experts},
      {rotation.cos, rows, half},
      {rotation.sin, rows, half},
      {logit_rows, logit_count, c.hidden_size},
  };
  buffers_.resize(std::size(shapes));
  for (size_t i = 0; i < std::size(shapes); ++i) {
    const Shape& shape = shapes[i];
    buffers_[i].resize(shape.rows * shape.cols);
    shape.view = Tensor(buffers_[i].data(), shape.rows, shape.cols);
  }
}

}  // namespace indexshare
