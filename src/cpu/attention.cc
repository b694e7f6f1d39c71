// Sparse attention in the latent space: the selected rows of the cache are gathered, and all heads of a token
// go against them as one small product (MODEL: 3.4, absorbed form).
#include <algorithm>
#include <cstring>

#include "cpu/backend.h"

namespace indexshare::cpu {
namespace {

constexpr int64_t kBlockRows = 16;  // tokens of one head that go against kv_b_proj together
constexpr int64_t kMaxHeads = 16;   // heads of one token that share a gathered tile
constexpr int64_t kTileRows = 64;   // cache rows gathered at a time: 147 KiB of f32 at GLM-5.2's width

}  // namespace

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
  const int64_t blocks = (q.rows + kBlockRows - 1) / kBlockRows;
  pool_.run(shape.heads * blocks, [&](int64_t item, int) {
    const int64_t head = item / blocks;
    const int64_t first = item % blocks * kBlockRows;
    const int64_t m = std::min(kBlockRows, q.rows - first);
    const float* in[kBlockRows];
    float* out[kBlockRows];
    for (int64_t i = 0; i < m; ++i) {
      in[i] = q.row(first + i) + head * (shape.nope + shape.rope);
      out[i] = latent_q.row(first + i) + head * (shape.latent + shape.rope);
      std::copy_n(in[i] + shape.nope, shape.rope, out[i] + shape.latent);
    }
    kernels_.combine({.x = in,
                      .m = m,
                      .w = &kv_b_proj,
                      .first = head * (shape.nope + shape.value),
                      .n = shape.nope,
                      .cols = shape.latent,
                      .y = out,
                      .accumulate = false});
  });
}

void CpuBackend::project_values(const HeadShape& shape, Tensor latent_out, const Matrix& kv_b_proj,
                                Tensor out) {
  profile_.add_flops(2 * out.rows * shape.heads * shape.value * shape.latent);
  const int64_t blocks = (out.rows + kBlockRows - 1) / kBlockRows;
  pool_.run(shape.heads * blocks, [&](int64_t item, int) {
    const int64_t head = item / blocks;
    const int64_t first = item % blocks * kBlockRows;
    const int64_t m = std::min(kBlockRows, out.rows - first);
    const float* in[kBlockRows];
    float* to[kBlockRows];
    for (int64_t i = 0; i < m; ++i) {
      in[i] = latent_out.row(first + i) + head * shape.latent;
      to[i] = out.row(first + i);
    }
    kernels_.matmul({.x = in,
                     .m = m,
                     .w = &kv_b_proj,
                     .first = head * (shape.nope + shape.value) + shape.nope,
                     .n = shape.value,
                     .y = to,
                     .y_first = head * shape.value});
  });
}

void CpuBackend::sparse_attention(int64_t layer, const Batch& batch, const HeadShape& shape, Tensor latent_q,
                                  const Selection& selection, float scale, Tensor latent_out) {
  const int64_t width = shape.latent + shape.rope;
  const int64_t rows = batch.rows();
  const int64_t share = (shape.heads + pool_.threads() - 1) / pool_.threads();
  const int64_t heads =
      rows >= pool_.threads() ? std::min(kMaxHeads, shape.heads) : std::min(kMaxHeads, share);
  const int64_t head_blocks = (shape.heads + heads - 1) / heads;
  for (int64_t t = 0; t < rows; ++t) {
    profile_.add_flops(2 * static_cast<int64_t>(selection[t].size()) * shape.heads * (width + shape.latent));
  }

  pool_.run(rows * head_blocks, [&](int64_t item, int worker) {
    const int64_t t = item / head_blocks;
    const int64_t first_head = item % head_blocks * heads;
    const int64_t m = std::min(heads, shape.heads - first_head);
    const SequenceCache& cache = *batch.segment(t).cache;
    const std::span<const int32_t> selected = selection[t];
    const auto n = static_cast<int64_t>(selected.size());

    Scratch& own = scratch(worker);
    own.a.resize(kTileRows * width);
    own.b.resize(m * n);
    const float* q[kMaxHeads];
    float* scores[kMaxHeads];
    float* out[kMaxHeads];
    for (int64_t i = 0; i < m; ++i) {
      q[i] = latent_q.row(t) + (first_head + i) * width;
      scores[i] = own.b.data() + i * n;
      out[i] = latent_out.row(t) + (first_head + i) * shape.latent;
    }

    auto gather = [&](int64_t first) {  // the tile of selected rows from number `first` on, as f32
      const int64_t count = std::min(kTileRows, n - first);
      for (int64_t i = 0; i < count; ++i) {
        const std::byte* row = cache.latent_row(layer, selected[static_cast<size_t>(first + i)]);
        float* to = own.a.data() + i * width;
        if (cache.layout().dtype == DType::bf16) {
          kernels_.decode_bf16(reinterpret_cast<const bf16*>(row), width, to);
        } else {
          std::memcpy(to, row, static_cast<size_t>(width) * sizeof(float));
        }
      }
      Matrix tile;
      tile.dtype = DType::f32;
      tile.rows = count;
      tile.cols = width;
      tile.data = reinterpret_cast<const std::byte*>(own.a.data());
      return tile;
    };

    Matrix tile;
    for (int64_t first = 0; first < n; first += kTileRows) {
      tile = gather(first);
      kernels_.matmul(
          {.x = q, .m = m, .w = &tile, .first = 0, .n = tile.rows, .y = scores, .y_first = first});
    }
    float sums[kMaxHeads];
    for (int64_t i = 0; i < m; ++i) sums[i] = kernels_.softmax(scores[i], n, scale);
    const float* weights[kMaxHeads];
    for (int64_t first = 0; first < n; first += kTileRows) {
      if (n > kTileRows) tile = gather(first);
      for (int64_t i = 0; i < m; ++i) weights[i] = scores[i] + first;
      kernels_.combine({.x = weights,
                        .m = m,
                        .w = &tile,
                        .first = 0,
                        .n = tile.rows,
                        .cols = shape.latent,
                        .y = out,
                        .accumulate = first > 0});
    }
    for (int64_t i = 0; i < m; ++i) kernels_.scale(out[i], 1.0f / sums[i], shape.latent, out[i]);
  });
}

}  // namespace indexshare::cpu
