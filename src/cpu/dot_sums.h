// What the kernels on vdpbf16ps share. To be included only by files that are compiled for AVX-512 BF16.
//
// The instruction multiplies 16 pairs by 16 pairs and adds each pair's two products to a lane of sums in f32.
#pragma once

#include <cstring>

#include "cpu/bf16_pairs.h"

namespace indexshare::cpu {
namespace {

inline __m512 add_dots(__m512 sums, __m512i a, __m512i b) {
  return _mm512_dpbf16_ps(sums, (__m512bh)a, (__m512bh)b);
}

// One pair in every lane.
inline __m512i every_lane(const bf16* pair) {
  int32_t bits = 0;
  std::memcpy(&bits, pair, sizeof(bits));
  return _mm512_set1_epi32(bits);
}

// Adds R rows of A by 16 C columns of B to their sums, pair after pair. Rows of A are a_stride values apart;
// B stands by pairs of values, [pairs][16 columns][2] at each b[c] with b_stride values from pair to pair.
template <int R, int C>
inline void add_products(const bf16* a, int64_t a_stride, const bf16* const (&b)[C], int64_t b_stride,
                         int64_t pairs, __m512 (&sums)[R][C]) {
  for (int64_t p = 0; p < pairs; ++p) {
    __m512i columns[C];
    for (int c = 0; c < C; ++c) columns[c] = _mm512_loadu_si512(b[c] + p * b_stride);
    for (int r = 0; r < R; ++r) {
      const __m512i pair = every_lane(a + r * a_stride + 2 * p);
      for (int c = 0; c < C; ++c) sums[r][c] = add_dots(sums[r][c], pair, columns[c]);
    }
  }
}

}  // namespace
}  // namespace indexshare::cpu
