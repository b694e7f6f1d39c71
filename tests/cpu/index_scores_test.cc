// The index scores of every table, against the formula in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "cpu/each_table.h"
#include "cpu/support.h"

namespace indexshare::cpu {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class IndexScoresTest : public EachTable {};
INDEXSHARE_FOR_EACH_TABLE(IndexScoresTest);

/// Blocks of index keys, and the function of the table that scores them.
template <typename T>
struct IndexKeys {
  int64_t dim;
  std::vector<T> stored;
  std::vector<float> keys;  // [16 * blocks, dim] as stored

  IndexKeys(int64_t blocks, int64_t key_dim, Random& random)
      : dim(key_dim),
        stored(static_cast<size_t>(blocks * block_values())),
        keys(random.normals(blocks * kIndexBlock * dim)) {
    for (int64_t s = 0; s < blocks * kIndexBlock; ++s) {
      for (int64_t i = 0; i < dim; ++i) set(s, i, keys[static_cast<size_t>(s * dim + i)]);
    }
  }
  int64_t block_values() const { return (dim + 1) / 2 * 2 * kIndexBlock; }
  void set(int64_t s, int64_t i, float value) {
    T& place =
        stored[static_cast<size_t>(s / kIndexBlock * block_values() + index_key_offset(s % kIndexBlock, i))];
    if constexpr (std::is_same_v<T, bf16>) {
      place = to_bf16(value);
    } else {
      place = value;
    }
    keys[static_cast<size_t>(s * dim + i)] = to_f32(place);
  }
  std::span<const float> key(int64_t s) const {
    return std::span(keys).subspan(static_cast<size_t>(s * dim), static_cast<size_t>(dim));
  }

  std::vector<float> scores(const Kernels& table, const std::vector<float>& q, const std::vector<float>& w,
                            int64_t first_block, int64_t blocks) const {
    Unaligned query(q), weights(w), out(blocks * kIndexBlock);
    const T* start = stored.data() + first_block * block_values();
    if constexpr (std::is_same_v<T, bf16>) {
      table.index_scores_bf16({query.data(), weights.data(), std::ssize(w), dim, start, blocks, out.data()});
    } else {
      table.index_scores_f32({query.data(), weights.data(), std::ssize(w), dim, start, blocks, out.data()});
    }
    EXPECT_TRUE(out.intact());
    return {out.values().begin(), out.values().end()};
  }
};

/// I = sum_h w[h] * relu(q[h] . key); relu passes an error on undiminished.
Bounded bounded_score(std::span<const float> q, std::span<const float> w, std::span<const float> key) {
  Bounded score;
  for (size_t h = 0; h < w.size(); ++h) {
    const Bounded dot = bounded_dot(q.subspan(h * key.size(), key.size()), key);
    const double weight = std::abs(as_double(w[h]));
    score.value += as_double(w[h]) * std::max(0.0, dot.value);
    score.error +=
        weight * (dot.error + gamma_of(std::ssize(w)) * (std::max(0.0, dot.value) + dot.error)) + kSubnormal;
  }
  return score;
}

template <typename T>
void check_index_scores(const Kernels& table) {
  constexpr int64_t kBlocks = 4;
  Random random(7);
  for (const int64_t heads : {1, 3, 5, 16, 31, 32}) {
    for (const int64_t dim : {1, 2, 7, 16, 33, 128}) {
      SCOPED_TRACE("heads " + std::to_string(heads) + ", dim " + std::to_string(dim));
      IndexKeys<T> keys(kBlocks, dim, random);
      const std::vector<float> q = random.normals(heads * dim), w = random.normals(heads);
      for (const int64_t twin : {5, 20, 63}) {  // one key in several places
        for (int64_t i = 0; i < dim; ++i) keys.set(twin, i, keys.key(2)[static_cast<size_t>(i)]);
      }
      const std::vector<float> scores = keys.scores(table, q, w, 0, kBlocks);
      for (int64_t s = 0; s < kBlocks * kIndexBlock; ++s) {
        const Bounded exact = bounded_score(q, w, keys.key(s));
        ASSERT_NEAR(scores[static_cast<size_t>(s)], exact.value, exact.error) << "key " << s;
      }
      for (const size_t twin : {size_t{5}, size_t{20}, size_t{63}}) EXPECT_EQ(scores[twin], scores[2]);
      for (int64_t b = 0; b < kBlocks; ++b) {
        const std::vector<float> alone = keys.scores(table, q, w, b, 1);
        EXPECT_TRUE(
            same_bits(alone, std::span(scores).subspan(static_cast<size_t>(b * kIndexBlock), kIndexBlock)));
      }
    }
  }
}

TEST_P(IndexScoresTest, F32) {
  check_index_scores<float>(table());
}

TEST_P(IndexScoresTest, Bf16) {
  check_index_scores<bf16>(table());
}

template <typename T>
void check_nan_keys(const Kernels& table) {
  Random random(8);
  for (const int64_t heads : {1, 3, 32}) {
    for (const int64_t dim : {1, 7, 16}) {
      IndexKeys<T> keys(2, dim, random);
      keys.set(19, dim - 1, kNan);
      keys.set(4, 0, kNan);
      const std::vector<float> scores =
          keys.scores(table, random.normals(heads * dim), random.normals(heads), 0, 2);
      for (size_t s = 0; s < scores.size(); ++s)
        EXPECT_EQ(std::isnan(scores[s]), s == 19 || s == 4)
            << "heads " << heads << ", dim " << dim << ", key " << s;
    }
  }
}

TEST_P(IndexScoresTest, KeysWithNaNScoreNaN) {
  check_nan_keys<float>(table());
  check_nan_keys<bf16>(table());
}

// The dots are whole numbers, so that tables differ by the roundings of the sum over heads alone.
TEST_P(IndexScoresTest, Int8) {
  constexpr int64_t kBlocks = 6, kKeys = kBlocks * kIndexBlock;
  Random random(9);
  for (const int64_t heads : {1, 3, 31, 32, 64}) {
    for (const int64_t dim : {4, 20, 64, 128, 192}) {
      SCOPED_TRACE("heads " + std::to_string(heads) + ", dim " + std::to_string(dim));
      std::vector<int8_t> q(static_cast<size_t>(heads * dim)), keys(static_cast<size_t>(kKeys * dim));
      for (int8_t& x : q) x = static_cast<int8_t>(random.below(255) - 127);
      for (int8_t& x : keys) x = static_cast<int8_t>(random.below(255) - 127);
      for (int64_t i = 0; i < dim; ++i) {  // the largest sums that there can be, of either sign
        q[static_cast<size_t>(i)] = 127;
        keys[static_cast<size_t>(int8_key_offset(0, i))] = 127;
        keys[static_cast<size_t>(int8_key_offset(1, i))] = -127;
      }
      std::vector<int32_t> sums(static_cast<size_t>(heads));
      for (size_t i = 0; i < q.size(); ++i) sums[i / static_cast<size_t>(dim)] += q[i];
      const std::vector<float> w = random.normals(heads), scales = random.normals(kKeys);
      auto scores = [&](int64_t first, int64_t blocks) {
        Unaligned weights(w), out(blocks * kIndexBlock);
        table().index_scores_int8({.q = q.data(),
                                   .q_sums = sums.data(),
                                   .w = weights.data(),
                                   .heads = heads,
                                   .dim = dim,
                                   .keys = keys.data() + first * kIndexBlock * dim,
                                   .scales = scales.data() + first * kIndexBlock,
                                   .blocks = blocks,
                                   .scores = out.data(),
                                   .next = keys.data()});
        EXPECT_TRUE(out.intact());
        return std::vector<float>(out.values().begin(), out.values().end());
      };
      const std::vector<float> all = scores(0, kBlocks);
      for (int64_t s = 0; s < kKeys; ++s) {
        double want = 0, magnitude = 0;
        for (int64_t h = 0; h < heads; ++h) {
          int64_t dot = 0;
          for (int64_t i = 0; i < dim; ++i) {
            dot += q[static_cast<size_t>(h * dim + i)] *
                   keys[static_cast<size_t>(s / kIndexBlock * kIndexBlock * dim +
                                            int8_key_offset(s % kIndexBlock, i))];
          }
          const double term =
              as_double(w[static_cast<size_t>(h)]) * static_cast<double>(std::max<int64_t>(0, dot));
          want += term;
          magnitude += std::abs(term);
        }
        const double scale = as_double(scales[static_cast<size_t>(s)]);
        ASSERT_NEAR(all[static_cast<size_t>(s)], scale * want,
                    gamma_of(heads + 3) * std::abs(scale) * magnitude + kSubnormal)
            << "key " << s;
      }
      for (int64_t b = 0; b < kBlocks; ++b) {
        for (int64_t blocks = 1; b + blocks <= kBlocks; ++blocks) {
          const auto want = std::span(all).subspan(static_cast<size_t>(b * kIndexBlock),
                                                   static_cast<size_t>(blocks * kIndexBlock));
          EXPECT_TRUE(same_bits(scores(b, blocks), want)) << b << ", " << blocks;
        }
      }
    }
  }
}

}  // namespace
}  // namespace indexshare::cpu
