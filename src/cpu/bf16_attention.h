// Attention to gathered cache rows in products of bf16 pairs, whose instructions a unit brings. To be
// included only by files that are compiled for AVX-512.
#pragma once

#include <cstring>
#include <type_traits>

#include "cpu/bf16_pairs.h"
#include "cpu/matrix_unit.h"
#include "cpu/simd_kernels.h"

namespace indexshare::cpu {
namespace {

constexpr int64_t kHeadGroup = 16;   // heads that stand side by side in a register
constexpr int64_t kMaxGroups = 4;    // of 16 heads: what attend() takes at most
constexpr int64_t kKeyRows = 32;     // cache rows whose scores are computed at a time
constexpr int64_t kValueRows = 128;  // cache rows whose values are packed at a time

// Where attend() keeps what: everything for `groups` groups of 16 heads and n rows, padded to whole tiles.
struct AttendScratch {
  int64_t groups, width, latent, n;  // padded
  bf16* q;                           // [groups][width / 2][16][2]
  bf16* keys;                        // [kKeyRows][width]
  float* scores;                     // [groups][n][16]
  bf16* weights;                     // [groups][16][n]
  bf16* values;                      // [kValueRows / 2][latent][2]
  float* out;                        // [groups][16][latent]
  int64_t bytes;

  AttendScratch(int64_t heads, int64_t latent_width, int64_t rope, int64_t rows, std::byte* base)
      : groups(round_up(heads, kHeadGroup) / kHeadGroup),
        width(round_up(latent_width + rope, kTileDepth)),
        latent(round_up(latent_width, 32)),
        n(round_up(rows, kTileDepth)) {
    bytes = 0;
    auto take = [&](auto*& pointer, int64_t count) {
      using Pointer = std::remove_reference_t<decltype(pointer)>;
      pointer = base != nullptr ? reinterpret_cast<Pointer>(base + bytes) : nullptr;
      bytes += round_up(count * static_cast<int64_t>(sizeof(*pointer)), 64);
    };
    take(q, groups * width * kHeadGroup);
    take(keys, kKeyRows * width);
    take(scores, groups * n * kHeadGroup);
    take(weights, groups * n * kHeadGroup);
    take(values, kValueRows * latent);
    take(out, groups * kHeadGroup * latent);
  }
};

// The scores of all rows, by groups of 16 heads.
template <typename Unit>
void attend_scores(const AttendArgs& a, const AttendScratch& m, Unit& unit) {
  const int64_t width = a.latent + a.rope;
  std::memset(static_cast<void*>(m.keys), 0, static_cast<size_t>(kKeyRows * m.width) * sizeof(bf16));
  for (int64_t s = 0; s < m.n; s += kKeyRows) {
    for (int64_t r = 0; r < kKeyRows && s + r < a.n; ++r) {
      if (s + r + 8 < a.n) {
        const char* ahead = reinterpret_cast<const char*>(a.rows[s + r + 8]);
        for (int64_t b = 0; b < width * 2; b += 64) _mm_prefetch(ahead + b, _MM_HINT_T0);
      }
      std::memcpy(m.keys + r * m.width, a.rows[s + r], static_cast<size_t>(width) * sizeof(bf16));
    }
    unit.scores(m, s);
  }
}

// weights[h][s] = exp(scale * (scores[s][h] - max)) in bf16, zero behind the last row; returns the 16 sums.
__m512 attend_softmax(const AttendArgs& a, const AttendScratch& m, int64_t g) {
  const float* scores = m.scores + g * m.n * kHeadGroup;
  bf16* weights = m.weights + g * m.n * kHeadGroup;
  __m512 max = Avx512::load(scores);
  for (int64_t s = 1; s < a.n; ++s) max = Avx512::max(max, Avx512::load(scores + s * kHeadGroup));
  const __m512 scale = Avx512::set(a.scale);
  __m512 sum = Avx512::zero();
  for (int64_t s = 0; s < m.n; s += 16) {
    __m512i lines[16];
    for (int64_t r = 0; r < 16; ++r) {
      if (s + r >= a.n) {
        lines[r] = _mm512_setzero_si512();
        continue;
      }
      const __m512 score = Avx512::load(scores + (s + r) * kHeadGroup);
      const __m512 e = exp<Avx512>(Avx512::mul(scale, Avx512::sub(score, max)));
      sum = Avx512::add(sum, e);
      lines[r] = _mm512_castps_si512(e);
    }
    transpose(lines);
    for (int64_t h = 0; h < 16; ++h) Avx512::store(weights + h * m.n + s, _mm512_castsi512_ps(lines[h]));
  }
  return sum;
}

// values[s / 2][c][s % 2] = rows[first + s][c], for a block of kValueRows rows; zero behind the last one.
void pack_values(const AttendArgs& a, const AttendScratch& m, int64_t first) {
  for (int64_t s = 0; s < kValueRows; s += 2) {
    bf16* out = m.values + s * m.latent;
    for (int64_t c = 0; c < m.latent; c += 32) {
      auto line = [&](int64_t row) {
        return row < a.n ? load_columns(a.rows[row] + c, a.latent - c) : _mm512_setzero_si512();
      };
      store_pairs(interleave(line(first + s), line(first + s + 1)), out + c * 2);
    }
  }
}

// Unit brings
//   scores(m, s): m.scores[g][s + r][h] = m.keys[r] . m.q[g][h] for the kKeyRows rows from s on;
//   values(m, first): m.out[g][h][c] += sum over the block's rows of m.weights[g][h][first + s] *
//   m.values[s][c].
template <typename Unit>
void attend_with(const AttendArgs& a, Unit& unit) {
  const AttendScratch m(a.heads, a.latent, a.rope, a.n, a.scratch);
  const int64_t width = a.latent + a.rope;
  static constexpr float kZeros[1] = {};
  for (int64_t g = 0; g < m.groups; ++g) {
    const int64_t heads = at_most(a.heads - g * kHeadGroup, kHeadGroup);
    bf16* q = m.q + g * m.width * kHeadGroup;
    for (int64_t i = 0; i < width; i += kTileDepth) {
      __m512i rows[16];
      for (int64_t h = 0; h < 16; ++h) {
        rows[h] = h < heads ? to_pairs(a.q[g * kHeadGroup + h] + i, width - i) : to_pairs(kZeros, 0);
      }
      transpose(rows);
      for (int64_t p = 0; p < 16; ++p) _mm512_storeu_si512(q + i * kHeadGroup + p * 32, rows[p]);
    }
  }
  std::memset(m.out, 0, static_cast<size_t>(m.groups * kHeadGroup * m.latent) * sizeof(float));
  attend_scores(a, m, unit);
  alignas(64) float sums[16];
  float factors[kMaxGroups][16];
  for (int64_t g = 0; g < m.groups; ++g) {
    Avx512::store(sums, attend_softmax(a, m, g));
    for (int h = 0; h < 16; ++h) factors[g][h] = 1.0f / sums[h];
  }
  for (int64_t first = 0; first < m.n; first += kValueRows) {
    pack_values(a, m, first);
    unit.values(m, first);
  }
  for (int64_t h = 0; h < a.heads; ++h) {
    scale<Avx512>(m.out + h * m.latent, factors[h / 16][h % 16], a.latent, a.out[h]);
  }
}

}  // namespace
}  // namespace indexshare::cpu
