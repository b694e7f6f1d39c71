// A backend that hands every operation on to another one: for tests that change some of them on the way.
#pragma once

#include "ops/backend.h"

namespace indexshare::testing {

class ForwardingBackend : public Backend {
 public:
  explicit ForwardingBackend(Backend& to) : to_(to) {}

  void embed(const Matrix& table, std::span<const int32_t> tokens, Tensor x) override {
    to_.embed(table, tokens, x);
  }
  void rms_norm(Tensor x, std::span<const float> weight, float eps, Tensor y) override {
    to_.rms_norm(x, weight, eps, y);
  }
  void layer_norm(Tensor x, std::span<const float> weight, std::span<const float> bias, float eps,
                  Tensor y) override {
    to_.layer_norm(x, weight, bias, eps, y);
  }
  void linear(Tensor x, const Matrix& w, std::span<const float> bias, Rounding rounding, Tensor y) override {
    to_.linear(x, w, bias, rounding, y);
  }
  void add(Tensor x, Tensor y) override { to_.add(x, y); }
  void rotation(std::span<const int32_t> positions, std::span<const float> inverse_frequencies,
                Rotation rotation) override {
    to_.rotation(positions, inverse_frequencies, rotation);
  }
  void rope(Rotation rotation, RopePairs pairs, int64_t heads, int64_t head_width, Tensor x) override {
    to_.rope(rotation, pairs, heads, head_width, x);
  }
  void append_latent(int64_t layer, const Batch& batch, Tensor rows) override {
    to_.append_latent(layer, batch, rows);
  }
  void append_index_keys(int64_t layer, const Batch& batch, Tensor keys) override {
    to_.append_index_keys(layer, batch, keys);
  }
  void select_top_k(int64_t layer, const Batch& batch, Tensor queries, Tensor weights, int64_t k,
                    Selection& selection) override {
    to_.select_top_k(layer, batch, queries, weights, k, selection);
  }
  void absorb_queries(const HeadShape& shape, Tensor q, const Matrix& kv_b_proj, Tensor latent_q) override {
    to_.absorb_queries(shape, q, kv_b_proj, latent_q);
  }
  void sparse_attention(int64_t layer, const Batch& batch, const HeadShape& shape, Tensor latent_q,
                        const Selection& selection, float scale, Tensor latent_out) override {
    to_.sparse_attention(layer, batch, shape, latent_q, selection, scale, latent_out);
  }
  void project_values(const HeadShape& shape, Tensor latent_out, const Matrix& kv_b_proj,
                      Tensor out) override {
    to_.project_values(shape, latent_out, kv_b_proj, out);
  }
  void route(Tensor logits, std::span<const float> correction_bias, const RouterShape& shape,
             Routing& routing) override {
    to_.route(logits, correction_bias, shape, routing);
  }
  void experts(Tensor x, std::span<const MlpWeights> experts, const Routing& routing,
               const MlpWeights* shared, Tensor y) override {
    to_.experts(x, experts, routing, shared, y);
  }
  void mlp(Tensor x, const MlpWeights& w, Tensor y) override { to_.mlp(x, w, y); }
  Profile& profile() override { return to_.profile(); }

 private:
  Backend& to_;
};

}  // namespace indexshare::testing
