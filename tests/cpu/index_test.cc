// The indexer: keys in the cache, scores, and the selection of each token.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "cpu/every_backend.h"
#include "cpu/sequences.h"

namespace indexshare::cpu {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr int64_t kLayer = 2;  // the second full layer of the schedule
const std::vector<bool> kSchedule = {true, false, true};

/// Sequences whose keys are in the cache; the keys of all tokens, one sequence after another.
struct Index {
  int64_t heads, dim;
  Sequences sequences;
  std::vector<Rows> keys;  // of each sequence [length, dim]

  Index(DType dtype, int64_t head_count, int64_t key_dim, const std::vector<int64_t>& lengths,
        IndexKeys form = IndexKeys::plain)
      : heads(head_count), dim(key_dim), sequences({dtype, 4, key_dim, kSchedule, form}, lengths) {
    for (const int64_t length : lengths) keys.emplace_back(length, key_dim);
  }

  void append(CpuBackend& backend) {
    const OwnedBatch batch = sequences.all();
    Rows rows(std::ssize(batch.tokens), dim);
    int64_t row = 0;
    for (const Rows& of_sequence : keys) {
      for (int64_t s = 0; s < of_sequence.rows; ++s)
        std::ranges::copy(of_sequence.row(s), rows.row(row++).begin());
    }
    backend.append_index_keys(kLayer, batch.view(), rows.view());
  }

  const Rows& keys_of(const Batch& batch, int64_t row) const {
    return keys[static_cast<size_t>(batch.segment_of[static_cast<size_t>(row)])];
  }
};

/// Exact scores of the tokens up to the row's own, by the formula; NaN as minus infinity.
std::vector<double> exact_scores(const Index& index, const Batch& batch, int64_t row, const Rows& queries,
                                 const Rows& weights) {
  std::vector<double> scores;
  const Rows& keys = index.keys_of(batch, row);
  for (int64_t s = 0; s <= batch.position(row); ++s) {
    double score = 0;
    for (int64_t h = 0; h < index.heads; ++h) {
      double dot = 0;
      for (int64_t i = 0; i < index.dim; ++i) {
        dot += as_double(queries.row(row)[static_cast<size_t>(h * index.dim + i)]) *
               as_double(keys.row(s)[static_cast<size_t>(i)]);
      }
      score += as_double(weights.row(row)[static_cast<size_t>(h)]) * (dot < 0 ? 0 : dot);
    }
    scores.push_back(std::isnan(score) ? -HUGE_VAL : score);
  }
  return scores;
}

std::vector<int32_t> best(const std::vector<double>& scores, int64_t k) {
  std::vector<int32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return scores[static_cast<size_t>(a)] > scores[static_cast<size_t>(b)];
  });
  order.resize(std::min(order.size(), static_cast<size_t>(k)));
  std::sort(order.begin(), order.end());
  return order;
}

std::vector<std::vector<int32_t>> select(CpuBackend& backend, const Index& index, const OwnedBatch& batch,
                                         Rows queries, Rows weights, int64_t k) {
  Selection selection;
  const Batch view = batch.view();
  int64_t scored = 0;
  for (int64_t t = 0; t < view.rows(); ++t) scored += view.position(t) + 1 > k ? view.position(t) + 1 : 0;
  const int64_t flops = flops_of(
      backend, [&] { backend.select_top_k(kLayer, view, queries.view(), weights.view(), k, selection); });
  EXPECT_EQ(flops, 2 * index.heads * index.dim * scored);
  std::vector<std::vector<int32_t>> rows;
  for (int64_t t = 0; t < view.rows(); ++t) rows.emplace_back(selection[t].begin(), selection[t].end());
  return rows;
}

/// Checks every backend against the formula, over integers, whose sums are exact and often equal.
void check_exactly(DType dtype, int64_t heads, int64_t dim, const std::vector<int64_t>& lengths, int64_t rows,
                   int64_t k, Random& random, int64_t nans = 0) {
  Index index(dtype, heads, dim, lengths);
  for (Rows& keys : index.keys) {
    keys.values = random.integers(keys.rows * dim, 3);
    for (int64_t i = 0; i < nans; ++i)
      keys.row(random.below(keys.rows))[static_cast<size_t>(random.below(dim))] = kNan;
  }
  index.append(*every_backend(FloatType::f32).front());
  const OwnedBatch batch = index.sequences.last(rows);
  const Batch view = batch.view();
  Rows queries(view.rows(), heads * dim), weights(view.rows(), heads);
  queries.values = random.integers(view.rows() * heads * dim, 3);
  weights.values = random.integers(view.rows() * heads, 2);
  if (nans > 0) weights.row(view.rows() - 1)[0] = kNan;  // all scores of the last row
  for (const auto& backend : every_backend(FloatType::f32)) {
    const auto selected = select(*backend, index, batch, queries, weights, k);
    for (int64_t t = 0; t < view.rows(); ++t) {
      ASSERT_EQ(selected[static_cast<size_t>(t)], best(exact_scores(index, view, t, queries, weights), k))
          << backend->isa() << ", threads " << backend->threads() << ", row " << t << ", position "
          << view.position(t);
    }
  }
}

const std::vector<int64_t> kLengths = {15, 16, 17, 32, 33, 63, 64, 65, 129, 255, 256, 257, 513};

TEST(IndexKeys, StandRoundedInTheBlockOfTheirToken) {
  Random random(1);
  for (const int64_t dim : {7, 8}) {
    Index bf16_index(DType::bf16, 1, dim, {130, 5}), f32_index(DType::f32, 1, dim, {130, 5});
    for (Index* index : {&bf16_index, &f32_index}) {
      for (Rows& keys : index->keys) keys = random_rows(keys.rows, dim, random);
      index->append(*every_backend(FloatType::f32).front());
    }
    for (size_t sequence = 0; sequence < 2; ++sequence) {
      for (int64_t s = 0; s < bf16_index.keys[sequence].rows; ++s) {
        const auto* narrow =
            reinterpret_cast<const bf16*>(bf16_index.sequences[sequence].index_block(kLayer, s));
        const auto* wide =
            reinterpret_cast<const float*>(f32_index.sequences[sequence].index_block(kLayer, s));
        for (int64_t i = 0; i < dim; ++i) {
          const int64_t place = index_key_offset(s % kIndexBlock, i);
          ASSERT_EQ(narrow[place].bits,
                    to_bf16(bf16_index.keys[sequence].row(s)[static_cast<size_t>(i)]).bits);
          ASSERT_EQ(wide[place], f32_index.keys[sequence].row(s)[static_cast<size_t>(i)]);
        }
      }
    }
  }
}

TEST(SelectTopK, OneTokenOfEachSequence) {
  Random random(2);
  for (const DType dtype : {DType::bf16, DType::f32}) {
    for (const int64_t k : {1, 16, 64}) check_exactly(dtype, 3, 8, kLengths, 1, k, random);
  }
}

TEST(SelectTopK, WholePromptsOfSeveralSequences) {
  Random random(3);
  for (const DType dtype : {DType::bf16, DType::f32}) {
    check_exactly(dtype, 3, 7, kLengths, 1000, 16, random);
  }
}

TEST(SelectTopK, ChunksAfterALongerPast) {
  Random random(4);
  for (const int64_t rows : {2, 5, 20}) check_exactly(DType::bf16, 5, 6, kLengths, rows, 16, random);
}

TEST(SelectTopK, OneSequenceAlone) {
  Random random(5);
  for (const int64_t length : kLengths) check_exactly(DType::bf16, 2, 6, {length}, 1, 16, random);
}

TEST(SelectTopK, NaNCountsAsMinusInfinity) {
  Random random(6);
  check_exactly(DType::bf16, 3, 8, kLengths, 3, 16, random, 10);
  check_exactly(DType::f32, 3, 8, {129}, 1, 16, random, 125);
}

// Few tokens with many keys: their keys are shared among the threads.
TEST(SelectTopK, LongContexts) {
  Random random(7);
  for (const int64_t k : {64, 2048}) {
    check_exactly(DType::bf16, 2, 4, {10'001}, 1, k, random);
    check_exactly(DType::bf16, 2, 4, {10'240, 63, 4096}, 1, k, random);
  }
  check_exactly(DType::f32, 2, 4, {9'999}, 1, 2048, random, 3000);
}

// With scores of any value the order is that of the table's own rounding: it must fit the exact scores within
// their bounds, and be the same for every number of threads and in every batch.
TEST(SelectTopK, RealScoresWithinTheirBounds) {
  constexpr int64_t kHeads = 4, kDim = 16, kTopK = 50;
  Random random(8);
  Index index(DType::bf16, kHeads, kDim, {5000, 77});
  for (Rows& keys : index.keys) {
    keys = random_rows(keys.rows, kDim, random);
    for (float& x : keys.values) x = round_to_bf16(x);
  }
  index.append(*every_backend(FloatType::f32).front());
  const OwnedBatch batch = index.sequences.last(2);
  const Batch view = batch.view();
  const Rows queries = random_rows(view.rows(), kHeads * kDim, random),
             weights = random_rows(view.rows(), kHeads, random);
  std::vector<std::vector<int32_t>> first;
  for (const auto& backend : every_backend(FloatType::f32)) {
    const auto selected = select(*backend, index, batch, queries, weights, kTopK);
    if (backend->threads() == 1) first = selected;
    ASSERT_EQ(selected, first) << backend->isa() << ", threads " << backend->threads();

    for (int64_t t = 0; t < view.rows(); ++t) {  // alone
      OwnedBatch alone;
      alone.add(*view.segment(t).cache, view.position(t), 1);
      Rows query(1, kHeads * kDim), weight(1, kHeads);
      std::ranges::copy(queries.row(t), query.row(0).begin());
      std::ranges::copy(weights.row(t), weight.row(0).begin());
      ASSERT_EQ(select(*backend, index, alone, query, weight, kTopK)[0], selected[static_cast<size_t>(t)]);
    }
    if (backend->threads() != 1) continue;
    for (int64_t t = 0; t < view.rows(); ++t) {
      const std::vector<int32_t>& chosen = selected[static_cast<size_t>(t)];
      ASSERT_EQ(std::ssize(chosen), kTopK);
      const std::vector<double> exact = exact_scores(index, view, t, queries, weights);
      double worst_chosen = HUGE_VAL, best_other = -HUGE_VAL;
      for (size_t s = 0; s < exact.size(); ++s) {
        double error = 0;
        for (int64_t h = 0; h < kHeads; ++h) {
          const auto query = queries.row(t).subspan(static_cast<size_t>(h * kDim), kDim);
          error += std::abs(as_double(weights.row(t)[static_cast<size_t>(h)])) *
                   bounded_dot(query, index.keys_of(view, t).row(static_cast<int64_t>(s))).error *
                   (1 + kHeads);
        }
        if (std::ranges::binary_search(chosen, static_cast<int32_t>(s))) {
          worst_chosen = std::min(worst_chosen, exact[s] + error);
        } else {
          best_other = std::max(best_other, exact[s] - error);
        }
      }
      EXPECT_GE(worst_chosen, best_other);
    }
  }
}

// Keys, queries and weights of every size, with some that are no numbers or exceed any.
Index random_index(IndexKeys form, DType dtype, int64_t heads, int64_t dim, bool odd_values) {
  Random random(31);
  Index index(dtype, heads, dim, {900, 257, 40}, form);
  for (Rows& keys : index.keys) {
    keys = random_rows(keys.rows, dim, random);
    for (int64_t s = 0; s < keys.rows; s += 7) {
      for (float& x : keys.row(s)) x *= s % 2 == 0 ? 30.0f : 0.01f;
    }
    if (!odd_values) continue;
    keys.row(5)[0] = kNan;
    keys.row(17)[static_cast<size_t>(dim - 1)] = std::numeric_limits<float>::infinity();
    for (float& x : keys.row(33)) x = 0.0f;
    for (float& x : keys.row(34)) x *= 1e-42f;
  }
  return index;
}

TEST(SelectTopK, ScreenedKeysSelectWhatPlainKeysDo) {
  for (const FloatType compute : {FloatType::f32, FloatType::bf16}) {
    for (const DType dtype : {DType::bf16, DType::f32}) {
      for (const auto& [heads, dim] : {std::pair<int64_t, int64_t>{3, 7}, {32, 64}, {32, 128}}) {
        for (const bool odd_values : {false, true}) {
          Index plain = random_index(IndexKeys::plain, dtype, heads, dim, odd_values);
          Index screened = random_index(IndexKeys::screened, dtype, heads, dim, odd_values);
          for (const auto& backend : every_backend(compute)) {
            plain.append(*backend);
            screened.append(*backend);
            for (const int64_t rows : {1, 6}) {
              const OwnedBatch batch = plain.sequences.last(rows), same = screened.sequences.last(rows);
              Random random(32);
              const Rows queries = random_rows(std::ssize(batch.tokens), heads * dim, random);
              const Rows weights = random_rows(std::ssize(batch.tokens), heads, random);
              ASSERT_EQ(select(*backend, screened, same, queries, weights, 64),
                        select(*backend, plain, batch, queries, weights, 64))
                  << backend->isa() << ", heads " << heads << ", dim " << dim << ", " << dtype_name(dtype);
            }
          }
        }
      }
    }
  }
}

// What of the selections of all rows stands in both.
double share_in_common(const std::vector<std::vector<int32_t>>& a,
                       const std::vector<std::vector<int32_t>>& b) {
  int64_t common = 0, all = 0;
  for (size_t t = 0; t < a.size(); ++t) {
    std::vector<int32_t> both;
    std::ranges::set_intersection(a[t], b[t], std::back_inserter(both));
    common += std::ssize(both);
    all += std::ssize(a[t]);
  }
  return static_cast<double>(common) / static_cast<double>(all);
}

TEST(SelectTopK, KeysInInt8SelectNearlyTheSame) {
  Index plain = random_index(IndexKeys::plain, DType::bf16, 32, 128, false);
  Index int8 = random_index(IndexKeys::int8, DType::bf16, 32, 128, false);
  for (const auto& backend : every_backend(FloatType::f32)) {
    plain.append(*backend);
    int8.append(*backend);
    const OwnedBatch batch = plain.sequences.last(6), same = int8.sequences.last(6);
    Random random(33);
    const Rows queries = random_rows(std::ssize(batch.tokens), 32 * 128, random);
    const Rows weights = random_rows(std::ssize(batch.tokens), 32, random);
    const auto want = select(*backend, plain, batch, queries, weights, 128);
    const auto found = select(*backend, int8, same, queries, weights, 128);
    EXPECT_GE(share_in_common(want, found), 0.97) << backend->isa();
  }
}

// GLM-5.2's indexer over 16,384 random keys, and what of its selection keys in 8 bits find again (measured:
// 99.2 %).
TEST(SelectTopK, KeysInInt8FindAlmostTheSameInGlm52sShape) {
  constexpr int64_t kHeads = 32, kDim = 128, kTopK = 2048, kKeys = 16'384, kRows = 4;
  Random random(41);
  Index plain(DType::bf16, kHeads, kDim, {kKeys}), int8(DType::bf16, kHeads, kDim, {kKeys}, IndexKeys::int8);
  plain.keys[0] = int8.keys[0] = random_rows(kKeys, kDim, random);
  const Rows queries = random_rows(kRows, kHeads * kDim, random),
             weights = random_rows(kRows, kHeads, random);
  const OwnedBatch batch = plain.sequences.last(kRows), same = int8.sequences.last(kRows);
  for (const auto& backend : every_backend(FloatType::bf16)) {
    if (backend->threads() != 2) continue;
    plain.append(*backend);
    int8.append(*backend);
    const auto want = select(*backend, plain, batch, queries, weights, kTopK);
    const auto found = select(*backend, int8, same, queries, weights, kTopK);
    const double share = share_in_common(want, found);
    std::cout << backend->isa() << ": " << 100 * share << " % the same\n";
    EXPECT_GE(share, 0.985) << backend->isa();
  }
}

}  // namespace
}  // namespace indexshare::cpu
