// Products with weight matrices.
#include <algorithm>

#include "cpu/backend.h"

namespace indexshare::cpu {
namespace {

// Multiply-adds that are worth handing to another thread.
constexpr int64_t kMinItemWork = 1 << 15;

constexpr int64_t kManyRows = 64;

}  // namespace

// Enough items to balance the threads, tiles that fill the register blocks, and large ones where many rows of
// x share what of w is in the caches.
int64_t CpuBackend::linear_tile(int64_t rows_of_x, const Matrix& w, int threads) {
  const int64_t balanced = w.rows / (threads * 8);
  const int64_t worth_it = kMinItemWork / std::max<int64_t>(1, rows_of_x * w.cols);
  const int64_t tile = std::clamp<int64_t>(balanced, 8, rows_of_x >= kManyRows ? 256 : 64);
  return (std::max(tile, worth_it) + 31) / 32 * 32;
}

void CpuBackend::linear(Tensor x, const Matrix& w, std::span<const float> bias, Rounding rounding, Tensor y) {
  profile_.add_flops(2 * x.rows * w.rows * w.cols);
  activations_.reset(x.rows, x.cols, rounding == Rounding::exact ? FloatType::f32 : compute_);
  activations_.need(w);
  pool_.run((x.rows + kPackRows - 1) / kPackRows, [&](int64_t block, int) {
    const float* rows[kPackRows];
    const int64_t first = block * kPackRows;
    const int64_t m = std::min(kPackRows, x.rows - first);
    for (int64_t i = 0; i < m; ++i) rows[i] = x.row(first + i);
    activations_.set(first, m, rows, 0, x.cols);
  });

  y_rows_.resize(y.rows);
  for (int64_t t = 0; t < y.rows; ++t) y_rows_[t] = y.row(t);
  const int64_t tile = linear_tile(x.rows, w, pool_.threads());
  reserve_products(x.rows, tile);
  pool_.run((w.rows + tile - 1) / tile, [&](int64_t item, int worker) {
    const int64_t first = item * tile;
    const int64_t n = std::min(tile, w.rows - first);
    activations_.multiply(0, x.rows, w, first, n, y_rows_.data(), first, scratch(worker).bytes.data());
    if (bias.empty()) return;
    for (int64_t t = 0; t < x.rows; ++t) kernels_.add_scaled(bias.data() + first, 1.0f, n, y.row(t) + first);
  });
}

}  // namespace indexshare::cpu
