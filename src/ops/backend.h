// What the model asks of a device: its vocabulary of coarse operations. Activations are f32; weights stay in
// the format they are stored in; shapes are given as [rows, cols] with T the tokens of the batch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/tensor.h"
#include "formats/matrix.h"
#include "indexshare/options.h"
#include "ops/batch.h"
#include "ops/profile.h"

namespace indexshare {

/// How linear() treats its input. `activation`: rounded to bf16 first where the backend computes in bf16.
/// `exact`: never rounded (router and index weights, config key moe_router_dtype).
enum class Rounding : uint8_t { activation, exact };

/// The angles of the rotary embedding for each token of a batch (MODEL: 3.2).
struct Rotation {
  Tensor cos, sin;  // [T, rope dim / 2]
};

/// Which values the rotary embedding pairs: (2i, 2i + 1), or (i, i + dim / 2).
enum class RopePairs : uint8_t { interleaved, halves };

/// The three matrices of a SwiGLU MLP: down(silu(gate x) * up x).
struct MlpWeights {
  Matrix gate_proj, up_proj;  // [intermediate, hidden]
  Matrix down_proj;           // [hidden, intermediate]
};

/// Where the values of one attention head stand (config keys of the same names).
struct HeadShape {
  int64_t heads = 0;   // num_attention_heads
  int64_t nope = 0;    // qk_nope_head_dim
  int64_t rope = 0;    // qk_rope_head_dim
  int64_t value = 0;   // v_head_dim
  int64_t latent = 0;  // kv_lora_rank
};

/// The experts that each token goes to, ascending, and their weights (MODEL: 3.5).
struct Routing {
  int64_t experts_per_token = 0;
  Buffer<int32_t> ids;    // [T, experts_per_token]
  Buffer<float> weights;  // [T, experts_per_token]

  void resize(int64_t rows, int64_t per_token) {
    experts_per_token = per_token;
    ids.resize(rows * per_token);
    weights.resize(rows * per_token);
  }
  static int64_t bytes(int64_t rows, int64_t per_token) {
    return rows * per_token * static_cast<int64_t>(sizeof(int32_t) + sizeof(float));
  }
};

struct RouterShape {
  int64_t groups = 1;       // n_group
  int64_t kept_groups = 1;  // topk_group
  int64_t experts_per_token = 1;
  bool normalise = true;  // norm_topk_prob
  float scaling = 1.0f;   // routed_scaling_factor
};

class Backend {
 public:
  virtual ~Backend() = default;

  /// x[t] = table[tokens[t]].
  virtual void embed(const Matrix& table, std::span<const int32_t> tokens, Tensor x) = 0;
  /// y = x / sqrt(mean(x^2) + eps) * weight, row by row; y may be x.
  virtual void rms_norm(Tensor x, std::span<const float> weight, float eps, Tensor y) = 0;
  /// y = (x - mean) / sqrt(var + eps) * weight + bias, row by row; y may be x.
  virtual void layer_norm(Tensor x, std::span<const float> weight, std::span<const float> bias, float eps,
                          Tensor y) = 0;
  /// y = x w^T + bias (none where empty).
  virtual void linear(Tensor x, const Matrix& w, std::span<const float> bias, Rounding rounding,
                      Tensor y) = 0;
  /// y += x.
  virtual void add(Tensor x, Tensor y) = 0;
  /// cos and sin of position * inverse_frequencies [rope dim / 2], in f32.
  virtual void rotation(std::span<const int32_t> positions, std::span<const float> inverse_frequencies,
                        Rotation rotation) = 0;
  /// Turns the first `rope dim` values of each of `heads` runs of `head_width` values in a row.
  virtual void rope(Rotation rotation, RopePairs pairs, int64_t heads, int64_t head_width, Tensor x) = 0;

  /// Writes the batch's latent rows [T, latent + rope] into the caches, rounded to the cache's type.
  virtual void append_latent(int64_t layer, const Batch& batch, Tensor rows) = 0;
  /// Writes the batch's index keys [T, index_head_dim] into the caches of a full layer.
  virtual void append_index_keys(int64_t layer, const Batch& batch, Tensor keys) = 0;

  /// The index of a full layer: for each token the `k` positions of largest
  /// I[t, s] = sum_h weights[t, h] relu(queries[t, h] . key[s]) among s <= t, ties to the lower position, NaN
  /// as minus infinity; all of them, unscored, when there are at most k. queries: [T, heads * dim].
  virtual void select_top_k(int64_t layer, const Batch& batch, Tensor queries, Tensor weights, int64_t k,
                            Selection& selection) = 0;

  /// Queries into the latent space: q [T, heads * (nope + rope)] -> [T, heads * (latent + rope)], with the
  /// nope part times W_uk, the key rows of kv_b_proj [heads * (nope + value), latent], and the rope part
  /// copied.
  virtual void absorb_queries(const HeadShape& shape, Tensor q, const Matrix& kv_b_proj, Tensor latent_q) = 0;
  /// softmax(scale * q . row) over the selected rows of a layer's cache, times their latent part:
  /// latent_q [T, heads * (latent + rope)] -> latent_out [T, heads * latent].
  virtual void sparse_attention(int64_t layer, const Batch& batch, const HeadShape& shape, Tensor latent_q,
                                const Selection& selection, float scale, Tensor latent_out) = 0;
  /// Out of the latent space: latent_out times W_uv, the value rows of kv_b_proj -> [T, heads * value].
  virtual void project_values(const HeadShape& shape, Tensor latent_out, const Matrix& kv_b_proj,
                              Tensor out) = 0;

  /// Chooses experts from the router's logits [T, experts].
  virtual void route(Tensor logits, std::span<const float> correction_bias, const RouterShape& shape,
                     Routing& routing) = 0;
  /// y = sum of the routed experts' outputs by weight, ascending by expert, plus the shared MLP's (may be
  /// null).
  virtual void experts(Tensor x, std::span<const MlpWeights> experts, const Routing& routing,
                       const MlpWeights* shared, Tensor y) = 0;
  /// y = mlp(x).
  virtual void mlp(Tensor x, const MlpWeights& w, Tensor y) = 0;

  virtual Profile& profile() = 0;
};

}  // namespace indexshare
