// Products with weight matrices.
#include <algorithm>

#include "cpu/backend.h"

namespace indexshare::cpu {
namespace {

// Rows of x that go against a tile of weights before the next ones do: they fit the second-level cache.
constexpr int64_t kBlockRows = 32;

// Multiply-adds that are worth handing to another thread.
constexpr int64_t kMinItemWork = 1 << 15;

// Rows of w in one work item: enough items to balance the threads, tiles that fill the register blocks.
int64_t tile_rows(int64_t rows_of_x, const Matrix& w, int64_t rows, int threads) {
  const int64_t balanced = rows / (threads * 8);
  const int64_t worth_it = kMinItemWork / std::max<int64_t>(1, rows_of_x * w.cols);
  const int64_t tile = std::clamp<int64_t>(balanced, 8, 64);
  return (std::max(tile, worth_it) + 7) / 8 * 8;
}

}  // namespace

// In bf16 compute, a copy of x rounded to bf16; else x itself.
Tensor CpuBackend::rounded(Tensor x) {
  if (compute_ == ComputeType::f32) return x;
  rounded_.resize(x.rows * x.cols);
  const Tensor copy(rounded_.data(), x.rows, x.cols);
  for_rows(x, [&](int64_t t) { kernels_.round_bf16(x.row(t), x.cols, copy.row(t)); });
  return copy;
}

void CpuBackend::linear(Tensor x, const Matrix& w, std::span<const float> bias, Rounding rounding, Tensor y) {
  profile_.add_flops(2 * x.rows * w.rows * w.cols);
  if (rounding == Rounding::activation) x = rounded(x);
  x_rows_.resize(x.rows);
  y_rows_.resize(x.rows);
  for (int64_t t = 0; t < x.rows; ++t) {
    x_rows_[t] = x.row(t);
    y_rows_[t] = y.row(t);
  }
  const int64_t tile = tile_rows(x.rows, w, w.rows, pool_.threads());
  pool_.run((w.rows + tile - 1) / tile, [&](int64_t item, int) {
    const int64_t first = item * tile;
    const int64_t n = std::min(tile, w.rows - first);
    for (int64_t t = 0; t < x.rows; t += kBlockRows) {
      kernels_.matmul({.x = x_rows_.data() + t,
                       .m = std::min(kBlockRows, x.rows - t),
                       .w = &w,
                       .first = first,
                       .n = n,
                       .y = y_rows_.data() + t,
                       .y_first = first});
    }
    if (!bias.empty()) {
      for (int64_t t = 0; t < x.rows; ++t)
        kernels_.add_scaled(bias.data() + first, 1.0f, n, y.row(t) + first);
    }
  });
}

}  // namespace indexshare::cpu
