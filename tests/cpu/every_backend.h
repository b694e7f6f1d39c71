// Tests of operations run on every kernel table and on several numbers of threads.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <vector>

#include "cpu/backend.h"
#include "cpu/support.h"

namespace indexshare::cpu {

/// A backend for every kernel table with 1, 2, 3 and 5 threads, tables one after another. They live through
/// the whole program, so that each operation meets the scratch memory of others.
std::span<const std::unique_ptr<CpuBackend>> every_backend(FloatType compute);

/// The results of `op`, a function of a backend to a vector of f32, one per table. Those of one table must be
/// the same bits for all numbers of threads.
template <typename Op>
std::vector<std::vector<float>> run_everywhere(FloatType compute, Op op) {
  std::vector<std::vector<float>> results;
  for (const auto& backend : every_backend(compute)) {
    std::vector<float> result = op(*backend);
    if (backend->threads() == 1) {
      results.push_back(std::move(result));
    } else {
      EXPECT_TRUE(same_bits(result, results.back())) << backend->isa() << ", threads " << backend->threads();
    }
  }
  return results;
}

/// Each value within its bound.
void expect_within(std::span<const float> actual, std::span<const Bounded> expected);

/// Owned rows of f32, `gap` values apart.
struct Rows {
  int64_t rows, cols, stride;
  std::vector<float> values;

  Rows(int64_t row_count, int64_t col_count, int64_t gap = 0)
      : rows(row_count),
        cols(col_count),
        stride(col_count + gap),
        values(static_cast<size_t>(row_count * stride), kUntouched) {}

  Tensor view() {
    Tensor tensor(values.data(), rows, cols);
    tensor.stride = stride;
    return tensor;
  }
  std::span<float> row(int64_t i) { return {values.data() + i * stride, static_cast<size_t>(cols)}; }
  std::span<const float> row(int64_t i) const {
    return {values.data() + i * stride, static_cast<size_t>(cols)};
  }
  /// Whether nothing was written between the rows.
  bool gaps_untouched() const;
};
Rows random_rows(int64_t rows, int64_t cols, Random& random, int64_t gap = 0);

/// The FLOPs that `work` adds to the backend's profile.
template <typename Work>
int64_t flops_of(CpuBackend& backend, Work work) {
  const int64_t before = backend.profile().work().total_flops();
  work();
  return backend.profile().work().total_flops() - before;
}

}  // namespace indexshare::cpu
