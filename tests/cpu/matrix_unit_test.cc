// The matrix unit of the tables that have one: against sums in double, and against itself in other shapes.
#include "cpu/matrix_unit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "cpu/support.h"

namespace indexshare::cpu {
namespace {

std::vector<const Kernels*> tables_with_unit() {
  std::vector<const Kernels*> tables;
  for (const Kernels* table : available_kernels()) {
    if (table->matrix_unit != nullptr) tables.push_back(table);
  }
  return tables;
}

class MatrixUnitTest : public testing::TestWithParam<const Kernels*> {
 protected:
  const MatrixUnit* unit_ = GetParam()->matrix_unit;
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(MatrixUnitTest);  // on machines without one
INSTANTIATE_TEST_SUITE_P(Tables, MatrixUnitTest, testing::ValuesIn(tables_with_unit()),
                         [](const auto& instance) { return std::string(instance.param->name); });

// Rows of values that bf16 holds exactly, so that packing loses nothing.
std::vector<std::vector<float>> bf16_rows(int64_t rows, int64_t width, Random& random) {
  std::vector<std::vector<float>> result;
  for (int64_t i = 0; i < rows; ++i) {
    result.push_back(random.normals(width));
    for (float& x : result.back()) x = round_to_bf16(x);
  }
  return result;
}

// Rows [first, first + m), packed in groups.
Buffer<bf16> pack(const MatrixUnit& unit, const std::vector<std::vector<float>>& x, int64_t first, int64_t m,
                  int64_t k) {
  Buffer<bf16> packed(unit.packed_values(m, k));
  for (int64_t i = 0; i < m; i += kPackRows) {
    const float* rows[kPackRows];
    const int64_t n = std::min(kPackRows, m - i);
    for (int64_t r = 0; r < n; ++r) rows[r] = x[static_cast<size_t>(first + i + r)].data();
    unit.pack(rows, n, k, packed.data() + unit.packed_values(i, k));
  }
  return packed;
}

std::vector<std::vector<float>> multiply(const MatrixUnit& unit, const std::vector<std::vector<float>>& x,
                                         int64_t x_first, int64_t m, const Matrix& w, int64_t first,
                                         int64_t n) {
  const Buffer<bf16> packed = pack(unit, x, x_first, m, w.cols);
  std::vector<std::vector<float>> y(static_cast<size_t>(m),
                                    std::vector<float>(static_cast<size_t>(n) + 4, kUntouched));
  std::vector<float*> rows;
  for (auto& row : y) rows.push_back(row.data());
  const Buffer<std::byte> scratch(unit.matmul_scratch_bytes(m, n));
  unit.matmul({.x = packed.data(),
               .group_stride = unit.packed_values(kPackRows, w.cols),
               .m = m,
               .w = &w,
               .first = first,
               .n = n,
               .y = rows.data(),
               .y_first = 2,
               .scratch = scratch.data()});
  for (auto& row : y) {
    EXPECT_TRUE(row[0] == kUntouched && row[1] == kUntouched &&
                row[static_cast<size_t>(n) + 2] == kUntouched);
    row = {row.begin() + 2, row.end() - 2};
  }
  return y;
}

TEST_P(MatrixUnitTest, EachElementIsOneDotWhateverTheShape) {
  constexpr int64_t kRows = 70, kM = 70;
  Random random(21);
  int supported = 0;
  for (const Storage& storage : all_storages()) {
    for (const int64_t k : {1, 2, 31, 32, 33, 64, 100, 192, 257, 576}) {
      const StoredMatrix w = random_matrix(storage, kRows, k, random);
      if (!unit_->supports(w.view)) continue;
      ++supported;
      SCOPED_TRACE(storage.name() + ", k " + std::to_string(k));
      const auto x = bf16_rows(kM, k, random);
      const auto all = multiply(*unit_, x, 0, kM, w.view, 0, kRows);
      for (int64_t i = 0; i < kM; ++i) {
        for (int64_t j = 0; j < kRows; ++j) {
          const Bounded exact = bounded_dot(x[static_cast<size_t>(i)], w.row(j));
          // Beside the roundings of a sum in f32, those of scaling partial sums (one per block of columns).
          ASSERT_NEAR(all[static_cast<size_t>(i)][static_cast<size_t>(j)], exact.value, 3 * exact.error)
              << "row " << i << ", column " << j;
        }
      }
      for (const int64_t m : {1, 2, 15, 16, 17, 31, 32, 33, 48, 65}) {
        for (const int64_t n : {1, 2, 15, 16, 17, 31, 32, 33, 50}) {
          const int64_t first = (m + n) % (kRows - n + 1), x_first = m % (kM - m + 1);
          const auto y = multiply(*unit_, x, x_first, m, w.view, first, n);
          for (int64_t i = 0; i < m; ++i) {
            const auto& want = all[static_cast<size_t>(x_first + i)];
            ASSERT_TRUE(
                same_bits(y[static_cast<size_t>(i)],
                          std::span(want).subspan(static_cast<size_t>(first), static_cast<size_t>(n))))
                << "m " << m << ", n " << n << ", row " << i;
          }
        }
      }
    }
  }
  EXPECT_GT(supported, 10);
}

// More rows, columns and values than one block of the caches holds.
TEST_P(MatrixUnitTest, BlocksOfManyRowsChangeNoBit) {
  constexpr int64_t kM = 560, kRows = 40;
  Random random(25);
  for (const Storage& storage : all_storages()) {
    for (const int64_t k : {512, 1100, 4200}) {
      const StoredMatrix w = random_matrix(storage, kRows, k, random);
      if (!unit_->supports(w.view)) continue;
      const auto x = bf16_rows(kM, k, random);
      const auto all = multiply(*unit_, x, 0, kM, w.view, 0, kRows);
      for (const int64_t i : {0, 15, 16, 511, 512, 543, 559}) {
        const auto alone = multiply(*unit_, x, i, 1, w.view, 0, kRows);
        ASSERT_TRUE(same_bits(alone[0], all[static_cast<size_t>(i)]))
            << storage.name() << ", k " << k << ", row " << i;
      }
    }
  }
}

TEST_P(MatrixUnitTest, CombinesRowsOfTheMatrix) {
  constexpr int64_t kM = 40;
  Random random(26);
  int supported = 0;
  for (const Storage& storage : all_storages()) {
    for (const int64_t n : {1, 31, 32, 100, 192}) {
      for (const int64_t cols : {1, 16, 33, 100, 512}) {
        const int64_t first = 64;
        const StoredMatrix w = random_matrix(storage, first + n + 3, cols, random);
        if (!unit_->supports_combine(w.view, first)) continue;
        ++supported;
        SCOPED_TRACE(storage.name() + ", " + std::to_string(n) + " rows of " + std::to_string(cols));
        const auto x = bf16_rows(kM, n, random);
        auto combine = [&](int64_t x_first, int64_t m) {
          std::vector<std::vector<float>> y(static_cast<size_t>(m),
                                            std::vector<float>(static_cast<size_t>(cols) + 1, kUntouched));
          std::vector<const float*> in;
          std::vector<float*> out;
          for (int64_t i = 0; i < m; ++i) in.push_back(x[static_cast<size_t>(x_first + i)].data());
          for (auto& row : y) out.push_back(row.data());
          const Buffer<std::byte> scratch(unit_->combine_scratch_bytes(m, n, cols));
          unit_->combine({.x = in.data(),
                          .m = m,
                          .w = &w.view,
                          .first = first,
                          .n = n,
                          .cols = cols,
                          .y = out.data(),
                          .accumulate = false},
                         scratch.data());
          for (auto& row : y) {
            EXPECT_EQ(row.back(), kUntouched);
            row.pop_back();
          }
          return y;
        };
        const auto all = combine(0, kM);
        for (int64_t i = 0; i < kM; ++i) {
          for (int64_t c = 0; c < cols; ++c) {
            std::vector<float> column;
            for (int64_t j = 0; j < n; ++j) column.push_back(w.row(first + j)[static_cast<size_t>(c)]);
            const Bounded exact = bounded_dot(x[static_cast<size_t>(i)], column);
            ASSERT_NEAR(all[static_cast<size_t>(i)][static_cast<size_t>(c)], exact.value, 3 * exact.error)
                << "row " << i << ", column " << c;
          }
        }
        for (const int64_t m : {1, 2, 16, 17, 33}) {
          const auto part = combine(kM - m, m);
          for (int64_t i = 0; i < m; ++i) {
            EXPECT_TRUE(same_bits(part[static_cast<size_t>(i)], all[static_cast<size_t>(kM - m + i)])) << m;
          }
        }
      }
    }
  }
  EXPECT_GT(supported, 20);
}

TEST_P(MatrixUnitTest, PackingRoundsToNearestEven) {
  Random random(22);
  const auto values = random.normals(64);
  const float* rows[1] = {values.data()};
  Buffer<bf16> packed(unit_->packed_values(1, 64));
  unit_->pack(rows, 1, 64, packed.data());
  for (int64_t i = 0; i < 64; ++i) EXPECT_EQ(packed[i].bits, to_bf16(values[static_cast<size_t>(i)]).bits);
}

TEST_P(MatrixUnitTest, AttentionIsTheWeightedSumOfTheRows) {
  Random random(23);
  struct Shape {
    int64_t heads, latent, rope, n;
  };
  for (const Shape& s : {Shape{1, 16, 8, 1}, Shape{4, 64, 16, 64}, Shape{3, 20, 6, 33},
                         Shape{16, 512, 64, 130}, Shape{17, 48, 16, 31}, Shape{64, 512, 64, 300}}) {
    SCOPED_TRACE(std::to_string(s.heads) + " heads, " + std::to_string(s.n) + " rows");
    const int64_t width = s.latent + s.rope;
    const auto q = bf16_rows(s.heads, width, random);
    const auto keys = bf16_rows(s.n, width, random);
    std::vector<std::vector<bf16>> stored;
    std::vector<const bf16*> rows;
    for (const auto& key : keys) {
      auto& row = stored.emplace_back();
      for (const float x : key) row.push_back(to_bf16(x));
    }
    for (const auto& row : stored) rows.push_back(row.data());
    const float scale = 1.0f / std::sqrt(static_cast<float>(width));

    auto attend = [&](int64_t first, int64_t heads) {
      std::vector<std::vector<float>> out(static_cast<size_t>(heads),
                                          std::vector<float>(static_cast<size_t>(s.latent)));
      std::vector<float*> out_rows;
      std::vector<const float*> q_rows;
      for (auto& row : out) out_rows.push_back(row.data());
      for (int64_t h = 0; h < heads; ++h) q_rows.push_back(q[static_cast<size_t>(first + h)].data());
      Buffer<std::byte> scratch(unit_->attend_scratch_bytes(heads, s.latent, s.rope, s.n));
      unit_->attend({.q = q_rows.data(),
                     .heads = heads,
                     .latent = s.latent,
                     .rope = s.rope,
                     .rows = rows.data(),
                     .n = s.n,
                     .scale = scale,
                     .out = out_rows.data(),
                     .scratch = scratch.data()});
      return out;
    };
    const auto all = attend(0, s.heads);
    for (int64_t h = 0; h < s.heads; ++h) {
      std::vector<double> weights;
      double top = -1e30, sum = 0;
      for (const auto& key : keys) {
        weights.push_back(bounded_dot(q[static_cast<size_t>(h)], key).value * as_double(scale));
        top = std::max(top, weights.back());
      }
      for (double& x : weights) sum += x = std::exp(x - top);
      for (int64_t c = 0; c < s.latent; ++c) {
        double want = 0, magnitude = 0;
        for (size_t i = 0; i < keys.size(); ++i) {
          const double value = as_double(keys[i][static_cast<size_t>(c)]);
          want += weights[i] / sum * value;
          magnitude += weights[i] / sum * std::abs(value);
        }
        // Each weight is rounded to bf16: a relative error of 2^-9 at most, and the f32 sums lie far below
        // that.
        ASSERT_NEAR(all[static_cast<size_t>(h)][static_cast<size_t>(c)], want,
                    magnitude * 1.1 * kBf16Unit / 2 + 1e-6)
            << "head " << h << ", value " << c;
      }
      if (h % 7 == 0) {  // alone as in company
        EXPECT_TRUE(same_bits(attend(h, 1)[0], all[static_cast<size_t>(h)])) << "head " << h;
      }
    }
  }
}

TEST_P(MatrixUnitTest, IndexScoresFollowTheFormula) {
  Random random(24);
  for (const int64_t heads : {16, 32, 48}) {
    for (const int64_t dim : {32, 128}) {
      constexpr int64_t kBlocks = 5;
      const auto q = bf16_rows(heads, dim, random);
      auto w = random.normals(heads);
      std::fill(w.begin() + heads - 3, w.end(), 0.0f);  // as padded heads are
      auto keys = bf16_rows(kBlocks * kIndexBlock, dim, random);
      keys[20][3] = std::nanf("");
      std::vector<bf16> stored(static_cast<size_t>(kBlocks * kIndexBlock * dim)), packed_q;
      for (int64_t s = 0; s < kBlocks * kIndexBlock; ++s) {
        for (int64_t i = 0; i < dim; ++i) {
          stored[static_cast<size_t>(s / kIndexBlock * kIndexBlock * dim +
                                     index_key_offset(s % kIndexBlock, i))] =
              to_bf16(keys[static_cast<size_t>(s)][static_cast<size_t>(i)]);
        }
      }
      for (const auto& row : q) {
        for (const float x : row) packed_q.push_back(to_bf16(x));
      }
      auto scores = [&](int64_t first, int64_t blocks) {
        std::vector<float> out(static_cast<size_t>(blocks * kIndexBlock));
        unit_->index_scores({packed_q.data(), w.data(), heads, dim, stored.data() + first * kIndexBlock * dim,
                             blocks, out.data()});
        return out;
      };
      const auto all = scores(0, kBlocks);
      for (int64_t s = 0; s < kBlocks * kIndexBlock; ++s) {
        if (s == 20) {
          EXPECT_TRUE(std::isnan(all[static_cast<size_t>(s)]));
          continue;
        }
        double want = 0, error = 0;
        for (int64_t h = 0; h < heads; ++h) {
          const Bounded dot = bounded_dot(q[static_cast<size_t>(h)], keys[static_cast<size_t>(s)]);
          const double weight = as_double(w[static_cast<size_t>(h)]);
          want += weight * std::max(0.0, dot.value);
          error += std::abs(weight) * (dot.error + gamma_of(heads + 1) * std::abs(dot.value));
        }
        ASSERT_NEAR(all[static_cast<size_t>(s)], want, 2 * error) << "key " << s;
      }
      for (int64_t first = 0; first < kBlocks; ++first) {
        for (int64_t n = 1; first + n <= kBlocks; ++n) {
          const auto part = scores(first, n);
          for (int64_t i = 0; i < n * kIndexBlock; ++i) {
            if (first * kIndexBlock + i == 20) continue;
            ASSERT_EQ(part[static_cast<size_t>(i)], all[static_cast<size_t>(first * kIndexBlock + i)]);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace indexshare::cpu
