#include "cpu/activations.h"

#include <algorithm>

namespace indexshare::cpu {
namespace {

// Rows that go against a run of weights before the next ones do: they fit the second-level cache.
constexpr int64_t kBlockRows = 2 * kPackRows;

}  // namespace

void Activations::reset(int64_t rows, int64_t k, FloatType compute) {
  count_ = rows;
  k_ = k;
  compute_ = compute;
  plain_ = packed_ = false;
}

Activations::Size Activations::size(const Kernels& kernels, int64_t rows, int64_t k, FloatType compute,
                                    const Matrix& w) {
  if (on_matrix_unit(kernels, compute, w)) return {.packed = kernels.matrix_unit->packed_values(rows, k)};
  return {.plain = rows * k};
}

void Activations::need(const Matrix& w) {
  const Size needed = size(kernels_, count_, k_, compute_, w);
  if (needed.packed > 0) {
    groups_.resize(needed.packed);
    packed_ = true;
  } else {
    rows_.resize(needed.plain);
    plain_ = true;
  }
}

void Activations::set(int64_t first, int64_t m, const float* const* x, int64_t from, int64_t count) {
  if (packed_) {
    bf16* group = groups_.data() + kernels_.matrix_unit->packed_values(first, k_);
    kernels_.matrix_unit->pack(x, m, count, group + m * from);
  }
  if (!plain_) return;
  for (int64_t i = 0; i < m; ++i) {
    float* row = rows_.data() + (first + i) * k_ + from;
    if (compute_ == FloatType::bf16) {
      kernels_.round_bf16(x[i], count, row);
    } else {
      std::copy_n(x[i], count, row);
    }
  }
}

void Activations::multiply(int64_t first, int64_t m, const Matrix& w, int64_t w_first, int64_t n,
                           float* const* y, int64_t y_first, std::byte* scratch) const {
  if (on_matrix_unit(kernels_, compute_, w)) {
    kernels_.matrix_unit->matmul({.x = groups_.data() + kernels_.matrix_unit->packed_values(first, k_),
                                  .group_stride = kernels_.matrix_unit->packed_values(kPackRows, k_),
                                  .m = m,
                                  .w = &w,
                                  .first = w_first,
                                  .n = n,
                                  .y = y,
                                  .y_first = y_first,
                                  .scratch = scratch});
    return;
  }
  const float* x[kBlockRows];
  for (int64_t i = 0; i < m; i += kBlockRows) {
    const int64_t rows = std::min(kBlockRows, m - i);
    for (int64_t r = 0; r < rows; ++r) x[r] = rows_.data() + (first + i + r) * k_;
    kernels_.matmul({.x = x, .m = rows, .w = &w, .first = w_first, .n = n, .y = y + i, .y_first = y_first});
  }
}

}  // namespace indexshare::cpu
