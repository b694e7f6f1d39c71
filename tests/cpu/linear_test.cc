#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cpu/every_backend.h"

namespace indexshare::cpu {
namespace {

struct Shape {
  int64_t rows, cols;  // of the matrix
};
constexpr Shape kShapes[] = {{1, 1}, {7, 17}, {65, 129}, {130, 100}};

std::vector<float> run_linear(CpuBackend& backend, Rows& x, const Matrix& w, std::span<const float> bias,
                              Rounding rounding) {
  Rows y(x.rows, w.rows, 3);
  const int64_t flops = flops_of(backend, [&] { backend.linear(x.view(), w, bias, rounding, y.view()); });
  EXPECT_EQ(flops, 2 * x.rows * w.rows * w.cols);
  EXPECT_TRUE(y.gaps_untouched());
  return y.values;
}

std::vector<Bounded> expected_linear(const Rows& x, const StoredMatrix& w, std::span<const float> bias,
                                     bool rounded) {
  std::vector<Bounded> y;
  for (int64_t t = 0; t < x.rows; ++t) {
    std::vector<float> row(x.row(t).begin(), x.row(t).end());
    if (rounded) {
      for (float& v : row) v = round_to_bf16(v);
    }
    for (int64_t j = 0; j < w.view.rows; ++j) {
      Bounded dot = bounded_dot(row, w.row(j));
      if (!bias.empty()) {
        dot.value += as_double(bias[static_cast<size_t>(j)]);
        dot.error += kUnit * (std::abs(dot.value) + dot.error);
      }
      y.push_back(dot);
    }
    for (int64_t gap = 0; gap < 3; ++gap) y.push_back({as_double(kUntouched), 0});
  }
  return y;
}

TEST(Linear, IsTheProductWithTheStoredMatrix) {
  Random random(1);
  for (const Storage& storage : all_storages()) {
    for (const Shape& shape : kShapes) {
      for (const int64_t rows : {1, 2, 33}) {
        const StoredMatrix w = random_matrix(storage, shape.rows, shape.cols, random);
        Rows x = random_rows(rows, shape.cols, random, 5);
        SCOPED_TRACE(storage.name() + ", " + std::to_string(rows) + " rows, " + std::to_string(shape.rows) +
                     "x" + std::to_string(shape.cols));
        const auto results = run_everywhere(FloatType::f32, [&](CpuBackend& backend) {
          return run_linear(backend, x, w.view, {}, Rounding::activation);
        });
        const std::vector<Bounded> expected = expected_linear(x, w, {}, false);
        for (const auto& result : results) ASSERT_NO_FATAL_FAILURE(expect_within(result, expected));
      }
    }
  }
}

TEST(Linear, AddsTheBias) {
  Random random(2);
  const StoredMatrix w = random_matrix({DType::bf16}, 130, 100, random);
  const std::vector<float> bias = random.normals(130);
  for (const int64_t rows : {1, 34}) {
    Rows x = random_rows(rows, 100, random);
    const auto results = run_everywhere(FloatType::f32, [&](CpuBackend& backend) {
      return run_linear(backend, x, w.view, bias, Rounding::activation);
    });
    for (const auto& result : results) expect_within(result, expected_linear(x, w, bias, false));
  }
}

TEST(Linear, Bf16ComputeRoundsActivationsButNotExactInputs) {
  Random random(3);
  const StoredMatrix w = random_matrix({DType::bf16}, 70, 129, random);
  Rows x = random_rows(5, 129, random, 2);
  for (const Rounding rounding : {Rounding::activation, Rounding::exact}) {
    const auto results = run_everywhere(
        FloatType::bf16, [&](CpuBackend& backend) { return run_linear(backend, x, w.view, {}, rounding); });
    for (const auto& result : results) {
      expect_within(result, expected_linear(x, w, {}, rounding == Rounding::activation));
    }
  }
}

TEST(Linear, ARowDoesNotDependOnTheBatch) {
  Random random(4);
  for (const FloatType compute : {FloatType::f32, FloatType::bf16}) {
    for (const Storage& storage : all_storages()) {
      const StoredMatrix w = random_matrix(storage, 75, 129, random);
      Rows x = random_rows(40, 129, random);
      for (const auto& backend : every_backend(compute)) {
        const std::vector<float> batch = run_linear(*backend, x, w.view, {}, Rounding::activation);
        for (const int64_t t : {0, 31, 32, 39}) {
          Rows alone(1, 129);
          std::ranges::copy(x.row(t), alone.row(0).begin());
          const std::vector<float> single = run_linear(*backend, alone, w.view, {}, Rounding::activation);
          EXPECT_TRUE(same_bits(
              single, std::span(batch).subspan(static_cast<size_t>(t) * single.size(), single.size())))
              << storage.name() << ", " << backend->isa() << ", threads " << backend->threads() << ", row "
              << t;
        }
      }
    }
  }
}

}  // namespace
}  // namespace indexshare::cpu
