// The two matrix products of every table: against sums in double, and against themselves in other shapes.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "cpu/each_table.h"
#include "cpu/support.h"

namespace indexshare::cpu {
namespace {

/// Rows of values that stand apart, each at its own alignment.
class Rows {
 public:
  Rows(int64_t rows, int64_t width) : width_(width) {
    for (int64_t i = 0; i < rows; ++i) {
      storage_.emplace_back(static_cast<size_t>(width + i % 5 + 1), kUntouched);
      pointers_.push_back(storage_.back().data() + i % 5);
    }
  }
  void fill(Random& random) {
    for (float* row : pointers_) std::generate_n(row, width_, [&] { return random.normal(); });
  }
  void clear() {
    for (float* row : pointers_) std::fill_n(row, width_, kUntouched);
  }
  float* const* data() const { return pointers_.data(); }
  std::span<const float> operator[](int64_t i) const {
    return {pointers_[static_cast<size_t>(i)], static_cast<size_t>(width_)};
  }

 private:
  int64_t width_;
  std::vector<std::vector<float>> storage_;
  std::vector<float*> pointers_;
};

class MatmulTest : public EachTable {};
class CombineTest : public EachTable {};
INDEXSHARE_FOR_EACH_TABLE(MatmulTest);
INDEXSHARE_FOR_EACH_TABLE(CombineTest);

// Bounds are checked once, for all rows together; every other shape must then give the same bits.
TEST_P(MatmulTest, EachElementIsOneDotWhateverTheShape) {
  constexpr int64_t kM = 13, kN = 19, kRows = 24;
  Random random(2);
  for (const Storage& storage : all_storages()) {
    for (const int64_t k : {1, 7, 15, 16, 17, 31, 64, 100, 128, 129, 576}) {
      SCOPED_TRACE(storage.name() + ", k " + std::to_string(k));
      const StoredMatrix w = random_matrix(storage, kRows, k, random);
      Rows x(kM, k), all(kM, kRows), y(kM, kN + 8);
      x.fill(random);
      table().matmul({.x = x.data(), .m = kM, .w = &w.view, .first = 0, .n = kRows, .y = all.data()});
      for (int64_t i = 0; i < kM; ++i) {
        for (int64_t j = 0; j < kRows; ++j) {
          const Bounded exact = bounded_dot(x[i], w.row(j));
          ASSERT_NEAR(all[i][static_cast<size_t>(j)], exact.value, exact.error)
              << "row " << i << ", column " << j;
        }
      }

      for (int64_t m = 1; m <= kM; ++m) {
        for (int64_t n = 1; n <= kN; ++n) {
          const int64_t first = (m + n) % (kRows - kN + 1);
          const int64_t y_first = m % 4;
          y.clear();
          table().matmul({.x = x.data(),
                          .m = m,
                          .w = &w.view,
                          .first = first,
                          .n = n,
                          .y = y.data(),
                          .y_first = y_first});
          for (int64_t i = 0; i < kM; ++i) {
            std::vector<float> expected(kN + 8, kUntouched);
            if (i < m) std::copy_n(all[i].begin() + first, n, expected.begin() + y_first);
            ASSERT_TRUE(same_bits(y[i], expected)) << "m " << m << ", n " << n << ", row " << i;
          }
        }
      }
    }
  }
}

// As attention and decoding ask for them: many rows against one, and one against many.
TEST_P(MatmulTest, NotANumberStaysInItsRowAndColumn) {
  Random random(3);
  for (const Storage& storage : all_storages()) {
    StoredMatrix w = random_matrix(storage, 9, 40, random);
    Rows x(7, 40), y(7, 9);
    x.fill(random);
    x.data()[2][39] = std::numeric_limits<float>::quiet_NaN();
    table().matmul({.x = x.data(), .m = 7, .w = &w.view, .first = 0, .n = 9, .y = y.data()});
    for (int64_t i = 0; i < 7; ++i) {
      for (const float value : y[i]) EXPECT_EQ(std::isnan(value), i == 2) << storage.name();
    }
  }
}

TEST_P(MatmulTest, StoredNaNGivesNaN) {
  Random random(4);
  struct Pattern {
    Storage storage;
    std::vector<uint8_t> bytes;  // little-endian
  };
  const Pattern patterns[] = {{{DType::f32}, {0, 0, 0xc0, 0x7f}},
                              {{DType::bf16}, {0xc0, 0xff}},
                              {{DType::f16}, {0x01, 0x7e}},
                              {{DType::fp8_e4m3, 16, 16}, {0x7f}},
                              {{DType::fp8_e4m3, 16, 16}, {0xff}}};
  for (const Pattern& pattern : patterns) {
    for (const int64_t column : {0, 20, 36}) {  // in a whole vector and in a tail
      StoredMatrix w = random_matrix(pattern.storage, 9, 37, random);
      const auto width = static_cast<int64_t>(pattern.bytes.size());
      std::byte* stored = w.bytes.data() + width + (4 * 37 + column) * width;
      std::transform(pattern.bytes.begin(), pattern.bytes.end(), stored,
                     [](uint8_t b) { return std::byte{b}; });
      Rows x(2, 37), y(2, 9), sums(2, 37), ones(2, 9);
      x.fill(random);
      ones.fill(random);
      table().matmul({.x = x.data(), .m = 2, .w = &w.view, .first = 0, .n = 9, .y = y.data()});
      table().combine({.x = ones.data(),
                       .m = 2,
                       .w = &w.view,
                       .first = 0,
                       .n = 9,
                       .cols = 37,
                       .y = sums.data(),
                       .accumulate = false});
      for (int64_t i = 0; i < 2; ++i) {
        for (int64_t j = 0; j < 9; ++j)
          EXPECT_EQ(std::isnan(y[i][static_cast<size_t>(j)]), j == 4) << pattern.storage.name();
        for (int64_t c = 0; c < 37; ++c)
          EXPECT_EQ(std::isnan(sums[i][static_cast<size_t>(c)]), c == column) << pattern.storage.name();
      }
    }
  }
}

// sum_j x[j] * w[first + j][c], added to `start`.
Bounded bounded_combine(std::span<const float> x, const StoredMatrix& w, int64_t first, int64_t n, int64_t c,
                        float start) {
  std::vector<float> left = {start}, right = {1.0f};
  for (int64_t j = 0; j < n; ++j) {
    left.push_back(x[static_cast<size_t>(j)]);
    right.push_back(w.row(first + j)[static_cast<size_t>(c)]);
  }
  return bounded_dot(left, right);
}

TEST_P(CombineTest, EachElementIsOneSumWhateverTheShape) {
  constexpr int64_t kM = 9, kFirst = 3;
  Random random(5);
  for (const Storage& storage : all_storages()) {
    for (const int64_t cols : {1, 7, 15, 16, 17, 31, 64, 100, 129, 576}) {
      for (const int64_t n : {1, 2, 17, 64}) {
        for (const bool accumulate : {false, true}) {
          SCOPED_TRACE(storage.name() + ", cols " + std::to_string(cols) + ", n " + std::to_string(n) +
                       (accumulate ? ", added" : ""));
          const StoredMatrix w = random_matrix(storage, kFirst + n + 1, cols, random);
          Rows x(kM, n), start(kM, cols), all(kM, cols), y(kM, cols);
          x.fill(random);
          start.fill(random);
          auto combine = [&](int64_t m, int64_t count, int64_t from, int64_t to, const Rows& out, bool add) {
            std::vector<const float*> in;
            for (int64_t i = 0; i < m; ++i) in.push_back(x.data()[i] + from);
            table().combine({.x = in.data(),
                             .m = m,
                             .w = &w.view,
                             .first = kFirst + from,
                             .n = to - from,
                             .cols = count,
                             .y = out.data(),
                             .accumulate = add});
          };
          auto reset = [&](const Rows& rows) {
            for (int64_t i = 0; i < kM; ++i) std::copy_n(start.data()[i], cols, rows.data()[i]);
          };

          reset(all);
          combine(kM, cols, 0, n, all, accumulate);
          for (int64_t i = 0; i < kM; ++i) {
            for (int64_t c = 0; c < cols; c += 1 + cols / 40) {
              const Bounded exact = bounded_combine(x[i], w, kFirst, n, c,
                                                    accumulate ? start[i][static_cast<size_t>(c)] : 0.0f);
              ASSERT_NEAR(all[i][static_cast<size_t>(c)], exact.value, exact.error)
                  << "row " << i << ", column " << c;
            }
          }

          for (int64_t m = 1; m <= kM; ++m) {  // fewer rows, and the first columns only
            const int64_t count = 1 + (m * 37) % cols;
            reset(y);
            combine(m, count, 0, n, y, accumulate);
            for (int64_t i = 0; i < kM; ++i) {
              std::vector<float> expected(start[i].begin(), start[i].end());
              if (i < m) std::copy_n(all[i].begin(), count, expected.begin());
              ASSERT_TRUE(same_bits(y[i], expected)) << "m " << m << ", row " << i;
            }
          }

          reset(y);  // in two parts
          combine(kM, cols, 0, n / 2, y, accumulate);
          combine(kM, cols, n / 2, n, y, true);
          if (accumulate || n / 2 > 0) {
            for (int64_t i = 0; i < kM; ++i) ASSERT_TRUE(same_bits(y[i], all[i])) << "row " << i;
          }
        }
      }
    }
  }
}

TEST_P(CombineTest, OfNoRowsIsZero) {
  Random random(6);
  const StoredMatrix w = random_matrix({DType::bf16}, 1, 37, random);
  Rows x(2, 1), y(2, 37);
  table().combine({.x = x.data(),
                   .m = 2,
                   .w = &w.view,
                   .first = 0,
                   .n = 0,
                   .cols = 37,
                   .y = y.data(),
                   .accumulate = false});
  for (int64_t i = 0; i < 2; ++i) EXPECT_TRUE(same_bits(y[i], std::vector<float>(37, 0.0f)));
}

}  // namespace
}  // namespace indexshare::cpu
