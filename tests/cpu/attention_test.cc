// Sparse attention through the latent space against the formula that does without it (MODEL: 3.4).
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cpu/every_backend.h"
#include "cpu/sequences.h"

namespace indexshare::cpu {
namespace {

constexpr int64_t kLayer = 1;

/// Sequences with random latent rows in their caches, and the queries and selections of a batch of their
/// tokens.
struct Attention {
  HeadShape shape;
  DType dtype;
  float scale = 0.29f;
  StoredMatrix kv_b_proj;
  Sequences sequences;
  std::vector<Rows> latent;  // of each sequence [length, latent + rope], as the cache rounds them
  OwnedBatch batch;
  Rows q;
  Selection selection;

  Attention(const HeadShape& head_shape, DType cache, const Storage& storage,
            const std::vector<int64_t>& lengths, int64_t rows, int64_t k, Random& random)
      : shape(head_shape),
        dtype(cache),
        kv_b_proj(random_matrix(storage, shape.heads * (shape.nope + shape.value), shape.latent, random)),
        sequences({cache, width(), 2, {false, false, false}}, lengths),
        batch(sequences.last(rows)),
        q(random_rows(std::ssize(batch.tokens), shape.heads * (shape.nope + shape.rope), random, 3)) {
    fill_caches(lengths, random);
    select(k, random);
  }

  int64_t width() const { return shape.latent + shape.rope; }
  const Rows& rows_of(int64_t t) const {
    return latent[static_cast<size_t>(batch.segment_of[static_cast<size_t>(t)])];
  }

  void fill_caches(const std::vector<int64_t>& lengths, Random& random) {
    const OwnedBatch all = sequences.all();
    Rows rows = random_rows(std::ssize(all.tokens), width(), random, 1);
    every_backend(FloatType::f32).front()->append_latent(kLayer, all.view(), rows.view());
    int64_t row = 0;
    for (const int64_t length : lengths) {
      latent.emplace_back(length, width());
      for (int64_t s = 0; s < length; ++s) {
        std::ranges::transform(rows.row(row++), latent.back().row(s).begin(),
                               [&](float x) { return dtype == DType::bf16 ? round_to_bf16(x) : x; });
      }
    }
  }

  /// For each token up to k positions of those up to its own.
  void select(int64_t k, Random& random) {
    selection.resize(std::ssize(batch.tokens), k);
    for (int64_t t = 0; t < std::ssize(batch.tokens); ++t) {
      std::vector<int32_t> positions;
      for (int32_t s = 0; s <= batch.positions[static_cast<size_t>(t)]; ++s) positions.push_back(s);
      while (std::ssize(positions) > k)
        positions.erase(positions.begin() + random.below(std::ssize(positions)));
      std::ranges::copy(positions, selection.row(t));
      selection.set_count(t, std::ssize(positions));
    }
  }

  std::vector<float> run(CpuBackend& backend) { return run(backend, batch, q, selection); }

  /// The same for other rows of the same caches.
  std::vector<float> run(CpuBackend& backend, const OwnedBatch& tokens, Rows queries,
                         const Selection& chosen) const {
    const int64_t rows = queries.rows;
    int64_t selected = 0;
    for (int64_t t = 0; t < rows; ++t) selected += std::ssize(chosen[t]);
    Rows latent_q(rows, shape.heads * width()), latent_out(rows, shape.heads * shape.latent),
        out(rows, shape.heads * shape.value);
    const int64_t absorb_flops = flops_of(
        backend, [&] { backend.absorb_queries(shape, queries.view(), kv_b_proj.view, latent_q.view()); });
    const int64_t attention_flops = flops_of(backend, [&] {
      backend.sparse_attention(kLayer, tokens.view(), shape, latent_q.view(), chosen, scale,
                               latent_out.view());
    });
    const int64_t project_flops = flops_of(
        backend, [&] { backend.project_values(shape, latent_out.view(), kv_b_proj.view, out.view()); });
    EXPECT_EQ(absorb_flops, 2 * rows * shape.heads * shape.nope * shape.latent);
    EXPECT_EQ(attention_flops, 2 * selected * shape.heads * (width() + shape.latent));
    EXPECT_EQ(project_flops, 2 * rows * shape.heads * shape.value * shape.latent);
    return out.values;
  }

  // Rows of kv_b_proj: W_uk and W_uv of a head.
  std::span<const float> key_row(int64_t head, int64_t j) const {
    return kv_b_proj.row(head * (shape.nope + shape.value) + j);
  }
  std::span<const float> value_row(int64_t head, int64_t j) const { return key_row(head, shape.nope + j); }
};

double exact_dot(std::span<const float> x, std::span<const float> w) {
  return bounded_dot(x, w).value;
}

/// Queries in the latent space, and the rope part behind them.
std::vector<Bounded> bounded_latent_q(const Attention& a, int64_t t, int64_t head) {
  const auto q = a.q.row(t).subspan(static_cast<size_t>(head * (a.shape.nope + a.shape.rope)));
  std::vector<Bounded> latent_q;
  for (size_t l = 0; l < static_cast<size_t>(a.shape.latent); ++l) {
    std::vector<float> column;
    for (int64_t j = 0; j < a.shape.nope; ++j) column.push_back(a.key_row(head, j)[l]);
    latent_q.push_back(bounded_dot(q.first(column.size()), column));
  }
  for (int64_t j = 0; j < a.shape.rope; ++j)
    latent_q.push_back({as_double(q[static_cast<size_t>(a.shape.nope + j)]), 0});
  return latent_q;
}

/// (q_n . k_n + q_r . k_r): the value with k_n = W_uk c written out, the error that of the latent form.
Bounded bounded_score(const Attention& a, int64_t t, int64_t head, std::span<const float> row,
                      std::span<const Bounded> latent_q) {
  const auto q = a.q.row(t).subspan(static_cast<size_t>(head * (a.shape.nope + a.shape.rope)));
  const auto c = row.first(static_cast<size_t>(a.shape.latent));
  double score = 0;
  for (int64_t j = 0; j < a.shape.nope; ++j)
    score += as_double(q[static_cast<size_t>(j)]) * exact_dot(c, a.key_row(head, j));
  for (int64_t j = 0; j < a.shape.rope; ++j) {
    score += as_double(q[static_cast<size_t>(a.shape.nope + j)]) *
             as_double(row[static_cast<size_t>(a.shape.latent + j)]);
  }
  return {score, bounded_dot(latent_q, row).error};
}

/// One head of one token: softmax(scale * score) over the selected, times their values W_uv c.
std::vector<Bounded> bounded_head(const Attention& a, int64_t t, int64_t head) {
  const std::span<const int32_t> selected = a.selection[t];
  const std::vector<Bounded> latent_q = bounded_latent_q(a, t, head);
  std::vector<Bounded> scores;
  double max = -HUGE_VAL, min = HUGE_VAL, score_error = 0;
  for (const int32_t s : selected) {
    scores.push_back(bounded_score(a, t, head, a.rows_of(t).row(s), latent_q));
    max = std::max(max, scores.back().value);
    min = std::min(min, scores.back().value);
    score_error = std::max(score_error, scores.back().error);
  }
  // The argument of exp is off by two scores' errors and two roundings.
  const double scale = as_double(a.scale);
  const double argument_error = 2 * scale * score_error + gamma_of(2) * scale * (max - min + 2 * score_error);
  const double weight_error = std::expm1(argument_error) + 2 * kExpError;
  const double sum_error = weight_error + gamma_of(std::ssize(selected)) * (1 + weight_error);

  std::vector<double> p;
  double sum = 0;
  for (const Bounded& score : scores) sum += p.emplace_back(std::exp(scale * (score.value - max)));
  std::vector<Bounded> latent_out;
  for (size_t l = 0; l < static_cast<size_t>(a.shape.latent); ++l) {
    double value = 0, magnitude = 0;
    for (size_t i = 0; i < p.size(); ++i) {
      const double term = p[i] / sum * as_double(a.rows_of(t).row(selected[i])[l]);
      value += term;
      magnitude += std::abs(term);
    }
    // errors of the numerator and of the sum, a reciprocal and a product
    latent_out.push_back({value, magnitude * (2 * sum_error / (1 - sum_error) + gamma_of(3)) + kSubnormal});
  }
  std::vector<Bounded> out;
  for (int64_t j = 0; j < a.shape.value; ++j) {
    double value = 0;
    for (size_t i = 0; i < p.size(); ++i) {
      const auto c = a.rows_of(t).row(selected[i]).first(static_cast<size_t>(a.shape.latent));
      value += p[i] / sum * exact_dot(c, a.value_row(head, j));
    }
    out.push_back({value, bounded_dot(latent_out, a.value_row(head, j)).error});
  }
  return out;
}

void check_against_formula(Attention a) {
  std::vector<Bounded> expected;
  for (int64_t t = 0; t < a.q.rows; ++t) {
    for (int64_t head = 0; head < a.shape.heads; ++head) {
      const std::vector<Bounded> out = bounded_head(a, t, head);
      expected.insert(expected.end(), out.begin(), out.end());
    }
  }
  const auto results = run_everywhere(FloatType::f32, [&](CpuBackend& backend) { return a.run(backend); });
  for (const auto& result : results) ASSERT_NO_FATAL_FAILURE(expect_within(result, expected));
}

constexpr HeadShape kSmall = {.heads = 5, .nope = 6, .rope = 4, .value = 7, .latent = 19};
constexpr HeadShape kManyHeads = {
    .heads = 35, .nope = 3, .rope = 2, .value = 5, .latent = 16};  // more than share a tile
const std::vector<int64_t> kLengths = {1, 2, 16, 17, 63, 64, 65, 129, 200};

TEST(AppendLatent, RoundsToTheTypeOfTheCache) {
  Random random(1);
  for (const DType dtype : {DType::bf16, DType::f32}) {
    Attention a(kSmall, dtype, {DType::f32}, {130, 64, 1}, 1, 1, random);
    for (size_t sequence = 0; sequence < a.latent.size(); ++sequence) {
      for (int64_t s = 0; s < a.latent[sequence].rows; ++s) {
        const std::byte* row = a.sequences[sequence].latent_row(kLayer, s);
        for (int64_t i = 0; i < a.width(); ++i) {
          const float stored = dtype == DType::bf16 ? to_f32(reinterpret_cast<const bf16*>(row)[i])
                                                    : reinterpret_cast<const float*>(row)[i];
          ASSERT_EQ(stored, a.latent[sequence].row(s)[static_cast<size_t>(i)])
              << "token " << s << ", value " << i;
        }
      }
    }
  }
}

TEST(AppendLatent, TouchesNoOtherLayer) {
  Random random(2);
  Attention a(kSmall, DType::bf16, {DType::f32}, {70}, 1, 1, random);
  for (const int64_t layer : {0, 2}) {
    for (int64_t s = 0; s < 70; ++s) {
      const std::byte* row = a.sequences[0].latent_row(layer, s);
      ASSERT_TRUE(std::all_of(row, row + 2 * a.width(), [](std::byte b) { return b == std::byte{0}; }));
    }
  }
}

TEST(SparseAttention, OneTokenOfEachSequence) {
  Random random(3);
  for (const DType dtype : {DType::bf16, DType::f32}) {
    for (const int64_t k : {1, 64, 65, 150}) {  // within one gathered tile of rows and over several
      SCOPED_TRACE(std::string(dtype_name(dtype)) + ", k " + std::to_string(k));
      check_against_formula(Attention(kSmall, dtype, {DType::bf16}, kLengths, 1, k, random));
    }
  }
}

TEST(SparseAttention, EveryFormatOfWeights) {
  Random random(4);
  for (const Storage& storage : all_storages()) {
    SCOPED_TRACE(storage.name());
    check_against_formula(Attention(kSmall, DType::bf16, storage, {3, 70}, 2, 30, random));
  }
}

TEST(SparseAttention, ChunksOfSeveralSequences) {
  Random random(5);
  check_against_formula(Attention(kSmall, DType::bf16, {DType::bf16}, {20, 3, 80}, 20, 66, random));
}

TEST(SparseAttention, MoreHeadsThanShareATile) {
  Random random(6);
  for (const int64_t rows : {1, 3}) {
    check_against_formula(Attention(kManyHeads, DType::bf16, {DType::bf16}, {70, 5}, rows, 40, random));
  }
}

// Scores that are large and far apart: the best one takes all weight, and nothing overflows.
TEST(SparseAttention, SharpScores) {
  Random random(7);
  Attention a(kSmall, DType::f32, {DType::f32}, {100}, 3, 80, random);
  for (int64_t t = 0; t < a.q.rows; ++t) {
    for (float& x : a.q.row(t)) x *= 1e4f;
  }
  const auto results = run_everywhere(FloatType::f32, [&](CpuBackend& backend) { return a.run(backend); });
  for (int64_t t = 0; t < a.q.rows; ++t) {
    for (int64_t head = 0; head < a.shape.heads; ++head) {
      const std::vector<Bounded> latent_q = bounded_latent_q(a, t, head);
      const auto score = [&](int32_t s) {
        return bounded_score(a, t, head, a.rows_of(t).row(s), latent_q).value;
      };
      const int32_t top = *std::ranges::max_element(a.selection[t], {}, score);
      for (int64_t j = 0; j < a.shape.value; ++j) {
        const auto c = a.rows_of(t).row(top).first(static_cast<size_t>(a.shape.latent));
        const Bounded value = bounded_dot(c, a.value_row(head, j));
        for (const auto& result : results) {
          EXPECT_NEAR(result[static_cast<size_t>((t * a.shape.heads + head) * a.shape.value + j)],
                      value.value, 2 * value.error);
        }
      }
    }
  }
}

TEST(SparseAttention, ATokenDoesNotDependOnTheBatch) {
  Random random(8);
  for (const HeadShape& shape : {kSmall, kManyHeads}) {
    Attention a(shape, DType::bf16, {DType::bf16}, {90, 3, 140}, 25, 70, random);
    for (const auto& backend : every_backend(FloatType::f32)) {
      const std::vector<float> whole = a.run(*backend);
      for (const int64_t t : {0, 15, 16, 27, 52}) {
        OwnedBatch token;
        token.add(*a.batch.view().segment(t).cache, a.batch.positions[static_cast<size_t>(t)], 1);
        Rows q(1, a.q.cols);
        std::ranges::copy(a.q.row(t), q.row(0).begin());
        Selection selection;
        selection.resize(1, std::ssize(a.selection[t]));
        std::ranges::copy(a.selection[t], selection.row(0));
        selection.set_count(0, std::ssize(a.selection[t]));
        const std::vector<float> alone = a.run(*backend, token, q, selection);
        EXPECT_TRUE(
            same_bits(alone, std::span(whole).subspan(static_cast<size_t>(t) * alone.size(), alone.size())))
            << backend->isa() << ", threads " << backend->threads() << ", row " << t;
      }
    }
  }
}

TEST(AbsorbQueries, CopiesTheRopePart) {
  Random random(9);
  Attention a(kSmall, DType::bf16, {DType::bf16}, {40}, 20, 1, random);
  const auto results = run_everywhere(FloatType::f32, [&](CpuBackend& backend) {
    Rows latent_q(a.q.rows, a.shape.heads * a.width(), 2);
    backend.absorb_queries(a.shape, a.q.view(), a.kv_b_proj.view, latent_q.view());
    EXPECT_TRUE(latent_q.gaps_untouched());
    std::vector<float> packed;
    for (int64_t t = 0; t < a.q.rows; ++t)
      packed.insert(packed.end(), latent_q.row(t).begin(), latent_q.row(t).end());
    return packed;
  });
  std::vector<Bounded> expected;
  for (int64_t t = 0; t < a.q.rows; ++t) {
    for (int64_t head = 0; head < a.shape.heads; ++head) {
      const std::vector<Bounded> latent_q = bounded_latent_q(a, t, head);
      expected.insert(expected.end(), latent_q.begin(), latent_q.end());
    }
  }
  for (const auto& result : results) expect_within(result, expected);
}

}  // namespace
}  // namespace indexshare::cpu
