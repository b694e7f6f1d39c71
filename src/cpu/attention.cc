// Sparse attention in the latent space: the selected rows of the cache are gathered, and all heads of a token
// go against them as one small product (MODEL: 3.4, absorbed form).
#include <algorithm>
#include <cstring>

#include "base/round_up.h"
#include "cpu/backend.h"
#include "cpu/block_sizes.h"

namespace indexshare::cpu {
void CpuBackend::append_latent(int64_t layer, const Batch& batch, Tensor rows) {
  for (int64_t t = 0; t < rows.rows; ++t) {
    const SequenceCache& cache = *batch.segment(t).cache;
    std::byte* row = cache.latent_row(layer, batch.position(t));
    if (cache.layout().dtype == DType::bf16) {
      kernels_.encode_bf16(rows.row(t), rows.cols, reinterpret_cast<bf16*>(row));
    } else {
      std::memcpy(row, rows.row(t), static_cast<size_t>(rows.cols) * sizeof(float));
    }
  }
}

void CpuBackend::absorb_queries(const HeadShape& shape, Tensor q, const Matrix& kv_b_proj, Tensor latent_q) {
  profile_.add_flops(2 * q.rows * shape.heads * shape.nope * shape.latent);
  const MatrixUnit* unit = matrix_unit();
  if (unit) reserve(unit->combine_scratch_bytes(kHeadRows, shape.nope, shape.latent));
  for_heads(shape.heads, q.rows, [&](int64_t head, int64_t first, int64_t m, int worker) {
    const float* in[kHeadRows];
    float* out[kHeadRows];
    for (int64_t i = 0; i < m; ++i) {
      in[i] = q.row(first + i) + head * (shape.nope + shape.rope);
      out[i] = latent_q.row(first + i) + head * (shape.latent + shape.rope);
      std::copy_n(in[i] + shape.nope, shape.rope, out[i] + shape.latent);
    }
    const CombineArgs args = {.x = in,
                              .m = m,
                              .w = &kv_b_proj,
                              .first = head * (shape.nope + shape.value),
                              .n = shape.nope,
                              .cols = shape.latent,
                              .y = out,
                              .accumulate = false};
    if (unit && unit->supports_combine(kv_b_proj, args.first)) {
      unit->combine(args, scratch(worker).bytes.data());
    } else {
      kernels_.combine(args);
    }
  });
}

void CpuBackend::project_values(const HeadShape& shape, Tensor latent_out, const Matrix& kv_b_proj,
                                Tensor out) {
  profile_.add_flops(2 * out.rows * shape.heads * shape.value * shape.latent);
  const MatrixUnit* unit = matrix_unit();
  if (unit && !unit->supports(kv_b_proj)) unit = nullptr;
  if (unit) {
    reserve(unit->matmul_scratch_bytes(kHeadRows, shape.value));
    for (Scratch& own : scratch_) own.packed.resize(unit->packed_values(kHeadRows, shape.latent));
  }
  for_heads(shape.heads, out.rows, [&](int64_t head, int64_t first, int64_t m, int worker) {
    const float* in[kHeadRows];
    float* to[kHeadRows];
    for (int64_t i = 0; i < m; ++i) {
      in[i] = latent_out.row(first + i) + head * shape.latent;
      to[i] = out.row(first + i);
    }
    const int64_t w_first = head * (shape.nope + shape.value) + shape.nope;
    if (!unit) {
      return kernels_.matmul({.x = in,
                              .m = m,
                              .w = &kv_b_proj,
                              .first = w_first,
                              .n = shape.value,
                              .y = to,
                              .y_first = head * shape.value});
    }
    Scratch& own = scratch(worker);
    for (int64_t i = 0; i < m; i += kPackRows) {
      unit->pack(in + i, std::min(kPackRows, m - i), shape.latent,
                 own.packed.data() + unit->packed_values(i, shape.latent));
    }
    unit->matmul({.x = own.packed.data(),
                  .group_stride = unit->packed_values(kPackRows, shape.latent),
                  .m = m,
                  .w = &kv_b_proj,
                  .first = w_first,
                  .n = shape.value,
                  .y = to,
                  .y_first = head * shape.value,
                  .scratch = own.bytes.data()});
  });
}

// Cuts work by head and block of rows: body(head, first row, rows, worker).
void CpuBackend::for_heads(int64_t heads, int64_t rows,
                           FunctionRef<void(int64_t, int64_t, int64_t, int)> body) {
  const int64_t blocks = (rows + kHeadRows - 1) / kHeadRows;
  pool_.run(heads * blocks, [&](int64_t item, int worker) {
    const int64_t first = item % blocks * kHeadRows;
    body(item / blocks, first, std::min(kHeadRows, rows - first), worker);
  });
}

// Some heads of one token, and the rows of the cache that they attend to.
struct CpuBackend::AttentionItem {
  const SequenceCache& cache;
  int64_t layer;
  std::span<const int32_t> selected;
  int64_t latent, rope;
  float scale;
  int64_t heads = 0;
  const float* q[kUnitHeads] = {};
  float* out[kUnitHeads] = {};

  int64_t width() const { return latent + rope; }
};

void CpuBackend::sparse_attention(int64_t layer, const Batch& batch, const HeadShape& shape, Tensor latent_q,
                                  const Selection& selection, float scale, Tensor latent_out) {
  const int64_t width = shape.latent + shape.rope;
  const int64_t rows = batch.rows();
  for (int64_t t = 0; t < rows; ++t) {
    profile_.add_flops(2 * std::ssize(selection[t]) * shape.heads * (width + shape.latent));
  }
  // A gathered row serves all heads of an item: few tokens share their heads among the threads, many do not.
  const bool on_unit = matrix_unit() && batch.segments.front().cache->layout().dtype == DType::bf16;
  const int64_t most = on_unit ? kUnitHeads : kVectorHeads;
  const int64_t share =
      rows >= pool_.threads() ? most : (shape.heads + pool_.threads() - 1) / pool_.threads();
  const int64_t step = on_unit ? round_up(share, kVectorHeads) : share;
  const int64_t heads = std::min({step, most, shape.heads});
  const int64_t head_blocks = (shape.heads + heads - 1) / heads;

  // Room for the largest item, here and not where it is used: no worker comes late to its first allocation.
  const int64_t n = selection.width();
  if (on_unit) reserve(kernels_.matrix_unit->attend_scratch_bytes(heads, shape.latent, shape.rope, n));
  for (Scratch& own : scratch_) {
    if (on_unit) {
      own.rows.resize(n);
    } else {
      own.a.resize(kGatheredRows * width);
      own.b.resize(heads * n);
    }
  }

  pool_.run(rows * head_blocks, [&](int64_t number, int worker) {
    const int64_t t = number / head_blocks;
    const int64_t first = number % head_blocks * heads;
    AttentionItem item = {.cache = *batch.segment(t).cache,
                          .layer = layer,
                          .selected = selection[t],
                          .latent = shape.latent,
                          .rope = shape.rope,
                          .scale = scale,
                          .heads = std::min(heads, shape.heads - first)};
    for (int64_t i = 0; i < item.heads; ++i) {
      item.q[i] = latent_q.row(t) + (first + i) * width;
      item.out[i] = latent_out.row(t) + (first + i) * shape.latent;
    }
    if (on_unit) {
      attend_on_unit(item, scratch(worker));
    } else {
      attend(item, scratch(worker));
    }
  });
}

void CpuBackend::attend_on_unit(const AttentionItem& item, Scratch& own) const {
  const int64_t n = std::ssize(item.selected);
  for (int64_t s = 0; s < n; ++s) {
    own.rows[s] = reinterpret_cast<const bf16*>(
        item.cache.latent_row(item.layer, item.selected[static_cast<size_t>(s)]));
  }
  kernels_.matrix_unit->attend({.q = item.q,
                                .heads = item.heads,
                                .latent = item.latent,
                                .rope = item.rope,
                                .rows = own.rows.data(),
                                .n = n,
                                .scale = item.scale,
                                .out = item.out,
                                .scratch = own.bytes.data()});
}

// Two passes over the selected rows, gathered tile by tile as f32: scores, then the weighted sum.
void CpuBackend::attend(const AttentionItem& item, Scratch& own) const {
  const int64_t n = std::ssize(item.selected);
  const int64_t width = item.width();
  float* scores[kVectorHeads];
  for (int64_t i = 0; i < item.heads; ++i) scores[i] = own.b.data() + i * n;

  Matrix tile;
  tile.dtype = DType::f32;
  tile.cols = width;
  tile.data = reinterpret_cast<const std::byte*>(own.a.data());
  auto gather = [&](int64_t first) {  // the selected rows from number `first` on
    tile.rows = std::min(kGatheredRows, n - first);
    for (int64_t i = 0; i < tile.rows; ++i) {
      const std::byte* row = item.cache.latent_row(item.layer, item.selected[static_cast<size_t>(first + i)]);
      float* to = own.a.data() + i * width;
      if (item.cache.layout().dtype == DType::bf16) {
        kernels_.decode_bf16(reinterpret_cast<const bf16*>(row), width, to);
      } else {
        std::memcpy(to, row, static_cast<size_t>(width) * sizeof(float));
      }
    }
  };

  for (int64_t first = 0; first < n; first += kGatheredRows) {
    gather(first);
    kernels_.matmul({.x = item.q,
                     .m = item.heads,
                     .w = &tile,
                     .first = 0,
                     .n = tile.rows,
                     .y = scores,
                     .y_first = first});
  }
  float sums[kVectorHeads];
  for (int64_t i = 0; i < item.heads; ++i) sums[i] = kernels_.softmax(scores[i], n, item.scale);
  const float* weights[kVectorHeads];
  for (int64_t first = 0; first < n; first += kGatheredRows) {
    if (n > kGatheredRows) gather(first);
    for (int64_t i = 0; i < item.heads; ++i) weights[i] = scores[i] + first;
    kernels_.combine({.x = weights,
                      .m = item.heads,
                      .w = &tile,
                      .first = 0,
                      .n = tile.rows,
                      .cols = item.latent,
                      .y = item.out,
                      .accumulate = first > 0});
  }
  for (int64_t i = 0; i < item.heads; ++i)
    kernels_.scale(item.out[i], 1.0f / sums[i], item.latent, item.out[i]);
}

}  // namespace indexshare::cpu
