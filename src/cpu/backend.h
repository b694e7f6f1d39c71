// The CPU backend: the model's operations on the machine's cores. How each is done stands in the file of its
// name: linear.cc, experts.cc, index.cc, attention.cc, and the small ones in backend.cc.
#pragma once

#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "cpu/activations.h"
#include "cpu/index_scorer.h"
#include "cpu/kernels.h"
#include "cpu/top_k.h"
#include "ops/backend.h"

namespace indexshare::cpu {

/// The most that forward passes ask of the backend, for planning its memory.
struct Workload {
  /// A call of linear().
  struct Product {
    const Matrix* w = nullptr;
    int64_t rows = 0;
    Rounding rounding = Rounding::activation;
  };
  /// A call of experts(), or of mlp() with `shared` alone.
  struct Mlps {
    std::span<const MlpWeights> experts;
    int64_t experts_per_token = 0;
    const MlpWeights* shared = nullptr;
  };

  int64_t rows = 0;     // tokens of a batch
  int64_t context = 0;  // tokens of the longest sequence
  DType cache_dtype = DType::bf16;
  IndexKeys index_keys = IndexKeys::plain;
  HeadShape heads;
  int64_t index_heads = 0, index_dim = 0, index_topk = 0;
  std::vector<Product> products;
  std::vector<Mlps> mlps;
};

class CpuBackend final : public Backend {
 public:
  /// `threads` >= 1, the caller's among them, shared out among as many memory `nodes`.
  CpuBackend(const Kernels& kernels, int threads, FloatType compute, int nodes = 1);

  void embed(const Matrix& table, std::span<const int32_t> tokens, Tensor x) override;
  void rms_norm(Tensor x, std::span<const float> weight, float eps, Tensor y) override;
  void layer_norm(Tensor x, std::span<const float> weight, std::span<const float> bias, float eps,
                  Tensor y) override;
  void linear(Tensor x, const Matrix& w, std::span<const float> bias, Rounding rounding, Tensor y) override;
  void add(Tensor x, Tensor y) override;
  void rotation(std::span<const int32_t> positions, std::span<const float> inverse_frequencies,
                Rotation rotation) override;
  void rope(Rotation rotation, RopePairs pairs, int64_t heads, int64_t head_width, Tensor x) override;
  void append_latent(int64_t layer, const Batch& batch, Tensor rows) override;
  void append_index_keys(int64_t layer, const Batch& batch, Tensor keys) override;
  void select_top_k(int64_t layer, const Batch& batch, Tensor queries, Tensor weights, int64_t k,
                    Selection& selection) override;
  void absorb_queries(const HeadShape& shape, Tensor q, const Matrix& kv_b_proj, Tensor latent_q) override;
  void sparse_attention(int64_t layer, const Batch& batch, const HeadShape& shape, Tensor latent_q,
                        const Selection& selection, float scale, Tensor latent_out) override;
  void project_values(const HeadShape& shape, Tensor latent_out, const Matrix& kv_b_proj,
                      Tensor out) override;
  void route(Tensor logits, std::span<const float> correction_bias, const RouterShape& shape,
             Routing& routing) override;
  void experts(Tensor x, std::span<const MlpWeights> experts, const Routing& routing,
               const MlpWeights* shared, Tensor y) override;
  void mlp(Tensor x, const MlpWeights& w, Tensor y) override;
  Profile& profile() override { return profile_; }

  /// What a backend comes to hold, nearly, once it has done the largest of such work.
  static int64_t planned_bytes(const Kernels& kernels, int threads, FloatType compute, const Workload& work);
  /// What it holds now: all that grows with the work, but for the candidates of top-k.
  int64_t held_bytes() const;

  /// Rows of w in one work item of linear().
  static int64_t linear_tile(int64_t rows_of_x, const Matrix& w, int threads);

  std::string_view isa() const { return kernels_.name; }
  int threads() const { return pool_.threads(); }

 private:
  struct AttentionItem;
  // What one worker needs while it computes an item; it grows to the largest item seen.
  struct Scratch {
    Buffer<float> a, b;
    Buffer<std::byte> bytes;
    Buffer<bf16> packed;
    Buffer<const bf16*> rows;
    std::vector<TopK> top_k;
  };
  // Tokens that go through one MLP together.
  struct ExpertGroup {
    const MlpWeights* mlp = nullptr;
    int64_t first_slot = 0;
    int64_t slots = 0;
    // Number of the group's first work item: in the loop over blocks of slots, over rows of the matrices.
    int64_t first_block = 0, first_item = 0;
  };
  // What route() needs while it looks at a token.
  struct Router {
    std::vector<float> scores, choices;  // [experts] without and with the correction bias
    std::vector<float> group_scores;
    std::vector<int32_t> order;

    void keep_best_groups(const RouterShape& shape);
  };

  Scratch& scratch(int worker) { return scratch_[static_cast<size_t>(worker)]; }
  void for_rows(Tensor x, FunctionRef<void(int64_t row)> body);
  void for_heads(int64_t heads, int64_t rows, FunctionRef<void(int64_t, int64_t, int64_t, int)> body);
  // The table's matrix unit where the computing type lets it be used, else null.
  const MatrixUnit* matrix_unit() const {
    return compute_ == FloatType::bf16 ? kernels_.matrix_unit : nullptr;
  }
  void attend(const AttentionItem& item, Scratch& own) const;
  void attend_on_unit(const AttentionItem& item, Scratch& own) const;
  void run_mlps(Tensor x, int64_t slots, Tensor y);

  // Room of `bytes` in every scratch; for products of m rows of x by n of w.
  void reserve(int64_t bytes) {
    for (Scratch& own : scratch_) own.bytes.resize(bytes);
  }
  void reserve_products(int64_t m, int64_t n) {
    if (matrix_unit() != nullptr) reserve(matrix_unit()->matmul_scratch_bytes(m, n));
  }

  const Kernels& kernels_;
  FloatType compute_;
  ThreadPool pool_;
  Profile profile_;
  std::vector<Scratch> scratch_;  // one per worker

  Activations activations_;   // the input of linear() and of experts()
  Activations intermediate_;  // between the matrices of an MLP
  Buffer<float*> y_rows_;

  Router router_;

  // experts(): a slot is one (token, expert) pair, slots of one expert follow one another
  std::vector<ExpertGroup> groups_;
  std::vector<int64_t> next_slot_;  // [experts + 1]
  Buffer<int32_t> slot_row_;
  Buffer<float> slot_weight_;

  // append_index_keys() and select_top_k()
  Buffer<float> key_;
  IndexScorer scorer_;
  std::vector<int32_t> scored_;  // the rows that have more than k keys
};

}  // namespace indexshare::cpu
