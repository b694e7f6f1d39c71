// Attention to gathered cache rows, and index scores, with vdpbf16ps.
#include "cpu/bf16_attention.h"
#include "cpu/dot_kernels.h"
#include "cpu/dot_sums.h"

namespace indexshare::cpu {
namespace {

constexpr int kRows = 8;     // of A, against two registers of columns of B: 16 sums
constexpr int kOutRows = 4;  // heads of the output, against 64 of its columns

struct AttentionDots {
  // Eight rows and two groups of heads at a time.
  static void scores(const AttendScratch& m, int64_t s) {
    int64_t g = 0;
    for (; g + 2 <= m.groups; g += 2) score_groups<2>(m, s, g);
    if (g < m.groups) score_groups<1>(m, s, g);
  }

  static void values(const AttendScratch& m, int64_t first) {
    const int64_t rows = at_most(m.n - first, kValueRows);
    int64_t c = 0;
    for (; c + 64 <= m.latent; c += 64) add_values<4>(m, first, rows, c);
    if (c < m.latent) add_values<2>(m, first, rows, c);
  }

 private:
  template <int G>
  static void score_groups(const AttendScratch& m, int64_t s, int64_t g) {
    const bf16* q[G];
    for (int v = 0; v < G; ++v) q[v] = m.q + (g + v) * m.width * kHeadGroup;
    for (int64_t r = 0; r < kKeyRows; r += kRows) {
      __m512 sums[kRows][G] = {};
      add_products(m.keys + r * m.width, m.width, q, 2 * kHeadGroup, m.width / 2, sums);
      for (int i = 0; i < kRows; ++i) {
        for (int v = 0; v < G; ++v) {
          Avx512::store(m.scores + ((g + v) * m.n + s + r + i) * kHeadGroup, sums[i][v]);
        }
      }
    }
  }

  // C registers of columns from c on, of all heads: these values stay in the first-level cache.
  template <int C>
  static void add_values(const AttendScratch& m, int64_t first, int64_t rows, int64_t c) {
    const bf16* values[C];
    for (int v = 0; v < C; ++v) values[v] = m.values + c * 2 + v * 32;
    for (int64_t h = 0; h < m.groups * kHeadGroup; h += kOutRows) {
      float* out = m.out + h * m.latent + c;
      __m512 sums[kOutRows][C];
      for (int i = 0; i < kOutRows; ++i) {
        for (int v = 0; v < C; ++v) sums[i][v] = Avx512::load(out + i * m.latent + v * 16);
      }
      add_products(m.weights + h * m.n + first, m.n, values, m.latent * 2, rows / 2, sums);
      for (int i = 0; i < kOutRows; ++i) {
        for (int v = 0; v < C; ++v) Avx512::store(out + i * m.latent + v * 16, sums[i][v]);
      }
    }
  }
};

// Scores of B blocks of keys.
template <int B>
void score_blocks(const IndexArgs<bf16, bf16>& a, int64_t block) {
  const bf16* keys[B];
  for (int b = 0; b < B; ++b) keys[b] = a.keys + (block + b) * a.dim * kIndexBlock;
  __m512 scores[B];
  for (int b = 0; b < B; ++b) scores[b] = Avx512::zero();
  for (int64_t h = 0; h < a.heads; h += kRows) {
    __m512 dots[kRows][B] = {};
    add_products(a.q + h * a.dim, a.dim, keys, 2 * kIndexBlock, a.dim / 2, dots);
    for (int i = 0; i < kRows; ++i) {
      const __m512 weight = Avx512::set(a.w[h + i]);
      for (int b = 0; b < B; ++b) {
        // max(0, dot) in this order of operands: a NaN stays one
        scores[b] = Avx512::fma(weight, Avx512::max(Avx512::zero(), dots[i][b]), scores[b]);
      }
    }
  }
  for (int b = 0; b < B; ++b) Avx512::store(a.scores + (block + b) * kIndexBlock, scores[b]);
}

}  // namespace

namespace dots {

int64_t attend_scratch_bytes(int64_t heads, int64_t latent, int64_t rope, int64_t n) {
  return AttendScratch(heads, latent, rope, n, nullptr).bytes;
}

void attend(const AttendArgs& a) {
  AttentionDots unit;
  attend_with(a, unit);
}

void index_scores(const IndexArgs<bf16, bf16>& a) {
  int64_t block = 0;
  for (; block + 2 <= a.blocks; block += 2) score_blocks<2>(a, block);
  if (block < a.blocks) score_blocks<1>(a, block);
}

}  // namespace dots
}  // namespace indexshare::cpu
