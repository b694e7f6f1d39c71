// Rows of activations made ready for products with weights, in the forms that the products want.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/buffer.h"
#include "cpu/kernels.h"
#include "ops/backend.h"

namespace indexshare::cpu {

/// A copy of rows, in f32 (rounded to bf16 in bf16 compute) or packed for the matrix unit, or both: what is
/// made depends on the matrices that need() has announced. Different rows may be set from different threads.
class Activations {
 public:
  explicit Activations(const Kernels& kernels) : kernels_(kernels) {}

  /// How many values rows take in the form that products with one matrix want; the other is 0.
  struct Size {
    int64_t plain = 0, packed = 0;

    void cover(Size other) {
      plain = std::max(plain, other.plain);
      packed = std::max(packed, other.packed);
    }
    int64_t bytes() const {
      return plain * static_cast<int64_t>(sizeof(float)) + packed * static_cast<int64_t>(sizeof(bf16));
    }
  };
  static Size size(const Kernels& kernels, int64_t rows, int64_t k, FloatType compute, const Matrix& w);
  int64_t held_bytes() const { return rows_.bytes() + groups_.bytes(); }

  /// Starts over for `rows` rows of `k` values. `compute` is f32 where nothing may be rounded.
  void reset(int64_t rows, int64_t k, FloatType compute);
  void need(const Matrix& w);

  /// Sets columns [from, from + count) of the block of m <= kPackRows rows that begins at row `first`; `from`
  /// is a multiple of 32 and x[i] points to the first of them. Blocks are those that multiply() reads: whole
  /// ones follow the first row of a product, and a shorter one may end it.
  void set(int64_t first, int64_t m, const float* const* x, int64_t from, int64_t count);

  /// y[i][y_first + j] = row (first + i) . w[w_first + j] for i < m, j < n. `scratch`: what the
  /// matrix unit wants for m by n.
  void multiply(int64_t first, int64_t m, const Matrix& w, int64_t w_first, int64_t n, float* const* y,
                int64_t y_first, std::byte* scratch) const;

 private:
  static bool on_matrix_unit(const Kernels& kernels, FloatType compute, const Matrix& w) {
    return compute == FloatType::bf16 && kernels.matrix_unit != nullptr && kernels.matrix_unit->supports(w);
  }

  const Kernels& kernels_;
  FloatType compute_ = FloatType::f32;
  int64_t count_ = 0, k_ = 0;
  bool plain_ = false, packed_ = false;  // the forms that are kept
  Buffer<float> rows_;                   // [count, k]
  Buffer<bf16> groups_;                  // MatrixUnit::pack
};

}  // namespace indexshare::cpu
