// How much memory the backend needs for a given work; the buffers are described in backend.h.
#include <algorithm>

#include "cpu/backend.h"
#include "cpu/block_sizes.h"

namespace indexshare::cpu {
namespace {

constexpr int64_t kFloat = sizeof(float);

bool uses_unit(const Kernels& kernels, FloatType compute, const Workload& work) {
  return compute == FloatType::bf16 && kernels.matrix_unit != nullptr && work.cache_dtype == DType::bf16;
}

int64_t most_slots(const Workload& work) {
  int64_t most = 0;
  for (const Workload::Mlps& m : work.mlps) {
    most = std::max(most, work.rows * (m.experts_per_token + (m.shared != nullptr ? 1 : 0)));
  }
  return most;
}

// Inputs of products and what lies between the matrices of an MLP, with the slots of the experts.
int64_t activation_bytes(const Kernels& kernels, FloatType compute, const Workload& work) {
  Activations::Size inputs, between;
  int64_t most_rows = 0;
  for (const Workload::Product& p : work.products) {
    const FloatType as = p.rounding == Rounding::exact ? FloatType::f32 : compute;
    inputs.cover(Activations::size(kernels, p.rows, p.w->cols, as, *p.w));
    most_rows = std::max(most_rows, p.rows);
  }
  for (const Workload::Mlps& m : work.mlps) {
    const int64_t slots = work.rows * (m.experts_per_token + (m.shared != nullptr ? 1 : 0));
    int64_t width = m.shared != nullptr ? m.shared->gate_proj.rows : 0;
    for (const MlpWeights& expert : m.experts) width = std::max(width, expert.gate_proj.rows);
    auto cover = [&](const MlpWeights& mlp) {
      inputs.cover(Activations::size(kernels, slots, mlp.gate_proj.cols, compute, mlp.gate_proj));
      inputs.cover(Activations::size(kernels, slots, mlp.up_proj.cols, compute, mlp.up_proj));
      between.cover(Activations::size(kernels, slots, width, compute, mlp.down_proj));
    };
    for (const MlpWeights& expert : m.experts) cover(expert);
    if (m.shared != nullptr) cover(*m.shared);
  }
  return inputs.bytes() + between.bytes() +
         most_slots(work) * (static_cast<int64_t>(sizeof(int32_t)) + kFloat) +
         most_rows * static_cast<int64_t>(sizeof(float*));
}

// The sums of products that wait in memory, and the operands of those with kv_b_proj.
int64_t product_bytes(const Kernels& kernels, int threads, FloatType compute, const Workload& work) {
  if (compute != FloatType::bf16 || kernels.matrix_unit == nullptr) return 0;
  const MatrixUnit& unit = *kernels.matrix_unit;
  int64_t most = std::max(unit.combine_scratch_bytes(kHeadRows, work.heads.nope, work.heads.latent),
                          unit.matmul_scratch_bytes(kHeadRows, work.heads.value));
  for (const Workload::Product& p : work.products) {
    most = std::max(most, unit.matmul_scratch_bytes(p.rows, CpuBackend::linear_tile(p.rows, *p.w, threads)));
  }
  const int64_t slots = most_slots(work);
  return std::max(most, unit.matmul_scratch_bytes(std::min(slots, kBlockSlots), mlp_tile(slots)));
}

// What one worker holds while it gathers the selected rows of a token or computes a tile of a product.
int64_t scratch_bytes(const Kernels& kernels, int threads, FloatType compute, const Workload& work) {
  const int64_t n = std::min(work.index_topk, work.context);
  const HeadShape& shape = work.heads;
  const int64_t mlp = 2 * kBlockSlots * mlp_tile(most_slots(work));
  int64_t products = product_bytes(kernels, threads, compute, work);
  int64_t packed = 0;
  if (products > 0) {
    packed = kernels.matrix_unit->packed_values(kHeadRows, shape.latent) * static_cast<int64_t>(sizeof(bf16));
  }
  if (uses_unit(kernels, compute, work)) {
    const int64_t heads = std::min(kUnitHeads, shape.heads);
    products =
        std::max(products, kernels.matrix_unit->attend_scratch_bytes(heads, shape.latent, shape.rope, n));
    return n * static_cast<int64_t>(sizeof(const bf16*)) + products + packed + mlp * kFloat;
  }
  const int64_t gathered = kGatheredRows * (shape.latent + shape.rope);
  return products + packed + (std::max(gathered, mlp) + std::min(kVectorHeads, shape.heads) * n) * kFloat;
}

// The candidates that one worker keeps while it looks for the best keys.
int64_t top_k_bytes(int threads, const Workload& work) {
  if (work.context <= work.index_topk) return 0;
  constexpr int64_t kCandidate = sizeof(float) + sizeof(int32_t);
  return std::clamp<int64_t>(work.rows / (4 * threads), 1, kIndexGroupRows) * 2 * work.index_topk *
         kCandidate;
}

// The queries of the index as the scorer wants them.
int64_t index_query_bytes(const Kernels& kernels, FloatType compute, const Workload& work) {
  if (work.context <= work.index_topk) return 0;
  return IndexScorer::planned_bytes(kernels, compute, work.cache_dtype, work.index_keys, work.rows,
                                    work.index_heads, work.index_dim);
}

}  // namespace

int64_t CpuBackend::planned_bytes(const Kernels& kernels, int threads, FloatType compute,
                                  const Workload& work) {
  return activation_bytes(kernels, compute, work) + index_query_bytes(kernels, compute, work) +
         threads * (scratch_bytes(kernels, threads, compute, work) + top_k_bytes(threads, work));
}

int64_t CpuBackend::held_bytes() const {
  int64_t total = activations_.held_bytes() + intermediate_.held_bytes() + y_rows_.bytes() +
                  slot_row_.bytes() + slot_weight_.bytes() + scorer_.held_bytes();
  for (const Scratch& own : scratch_) {
    total += own.a.bytes() + own.b.bytes() + own.bytes.bytes() + own.packed.bytes() + own.rows.bytes();
  }
  return total;
}

}  // namespace indexshare::cpu
