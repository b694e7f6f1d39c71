// What the tests of the CPU backend share: random values, weights in every storage format, and sums in double
// that carry a bound on the error of the same sum in f32.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cpu/kernels.h"
#include "formats/matrix.h"

namespace indexshare::cpu {

inline constexpr double kUnit = 0x1p-24;        // unit roundoff of f32
inline constexpr double kSubnormal = 0x1p-149;  // the smallest f32 above zero
inline constexpr double kExpError =
    3 * kUnit;  // relative, of the kernels' exp and of libm's: see simd_kernels.h
inline constexpr double kBf16Unit = 0x1p-8;  // unit roundoff of bf16

/// The relative error that n roundings in f32 can add up to (Higham's gamma_n).
inline double gamma_of(int64_t n) {
  const double nu = static_cast<double>(n) * kUnit;
  return nu / (1 - nu);
}

/// An exact value, and how far from it an f32 computation of it may end.
struct Bounded {
  double value = 0;
  double error = 0;
};

/// sum_k x[k] * w[k], in any order and with or without fused operations.
Bounded bounded_dot(std::span<const float> x, std::span<const float> w);
Bounded bounded_dot(std::span<const Bounded> x, std::span<const float> w);

class Random {
 public:
  explicit Random(uint32_t seed) : generator_(seed) {}
  float normal() { return normal_(generator_); }
  int64_t below(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(generator_); }
  std::vector<float> normals(int64_t n);
  /// Small integers: sums of their products are exact in f32.
  std::vector<float> integers(int64_t n, int64_t largest);

 private:
  std::mt19937 generator_;
  std::normal_distribution<float> normal_;
};

/// A way to store a matrix.
struct Storage {
  DType dtype;
  int64_t block_rows = 0;
  int64_t block_cols = 0;
  std::string name() const;
};

/// Every storage format; fp8 in blocks of several sizes, also some that no vector is a divisor of.
std::span<const Storage> all_storages();

/// Random weights. Their memory is aligned to the element and no further.
struct StoredMatrix {
  std::vector<std::byte> bytes;
  std::vector<float> scales;
  std::vector<float> values;  // [rows, cols] decoded
  Matrix view;

  std::span<const float> row(int64_t i) const {
    return std::span(values).subspan(static_cast<size_t>(i * view.cols), static_cast<size_t>(view.cols));
  }
};
StoredMatrix random_matrix(const Storage& storage, int64_t rows, int64_t cols, Random& random);

inline constexpr float kUntouched = -12345.5f;  // stands where nothing may be written

/// n values at an address that no vector is aligned to, followed by one that must not change.
struct Unaligned {
  std::vector<float> storage;
  int64_t n;

  explicit Unaligned(const std::vector<float>& values)
      : storage(values.size() + 2, kUntouched), n(std::ssize(values)) {
    std::copy(values.begin(), values.end(), data());
  }
  explicit Unaligned(int64_t count) : storage(static_cast<size_t>(count + 2), kUntouched), n(count) {}
  float* data() { return storage.data() + 1; }
  std::span<const float> values() const { return std::span(storage).subspan(1, static_cast<size_t>(n)); }
  bool intact() const { return storage.front() == kUntouched && storage.back() == kUntouched; }
};

inline double as_double(float x) {
  return static_cast<double>(x);
}

/// The same bits; unlike ==, it tells zeros apart and takes a NaN for itself.
bool same_bits(std::span<const float> a, std::span<const float> b);

}  // namespace indexshare::cpu
