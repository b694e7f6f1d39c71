// bf16 as the instructions that multiply pairs of it want their operands: AMX tiles and vdpbf16ps. To be
// included only by files that are compiled for AVX-512.
#pragma once

#include <cstdint>

#include "cpu/vec_avx512.h"
#include "formats/matrix.h"

namespace indexshare::cpu {
namespace {

constexpr int64_t kTileDepth = 32;  // values of bf16 in a register, and in a row of a tile

// As base/round_up.h, which has no internal linkage: what is compiled for one instruction set must not serve
// others.
inline int64_t round_up(int64_t n, int64_t step) {
  return (n + step - 1) / step * step;
}

inline int64_t at_most(int64_t n, int64_t most) {
  return n < most ? n : most;
}

// Rows and columns of 16 x 16 values of 32 bits change places.
inline void transpose(__m512i (&r)[16]) {
  __m512i t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0xdd);
    t[i + 8] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0xdd);
  }
  for (int i = 0; i < 4; ++i) {
    r[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
    r[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
    r[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
    r[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xdd);
  }
}

// 16 values rounded to bf16, in the lower halves of their lanes.
inline __m512i to_bf16_lanes(__m512 x) {
  return _mm512_srli_epi32(Avx512::rounded(x), 16);
}

// 32 values as 16 pairs of bf16.
inline __m512i to_pairs(const float* x, int64_t n) {
  const __m512i index = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  const __m512 low = n >= 16 ? Avx512::load(x) : Avx512::load(x, n);
  const __m512 high = n >= 32 ? Avx512::load(x + 16) : n > 16 ? Avx512::load(x + 16, n - 16) : Avx512::zero();
  const __m512 even = _mm512_permutex2var_ps(low, index, high);
  const __m512 odd = _mm512_permutex2var_ps(low, _mm512_add_epi32(index, _mm512_set1_epi32(1)), high);
  const __m512i upper =
      _mm512_and_si512(Avx512::rounded(odd), _mm512_set1_epi32(static_cast<int>(0xffff0000u)));
  return _mm512_or_si512(to_bf16_lanes(even), upper);
}

// Up to 32 values of e4m3 as bf16, exactly: exponents move by 120, the few subnormal magnitudes are looked
// up.
inline __m512i widen(const fp8_e4m3* x, int64_t n) {
  const __m512i subnormals = _mm512_castsi128_si512(  // i * 2^-9
      _mm_setr_epi16(0x0000, 0x3b00, 0x3b80, 0x3bc0, 0x3c00, 0x3c20, 0x3c40, 0x3c60));
  const __m256i bytes = n >= 32 ? _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x))
                                : _mm256_maskz_loadu_epi8((1u << n) - 1u, x);
  const __m512i bits = _mm512_cvtepu8_epi16(bytes);
  const __m512i magnitude = _mm512_and_si512(bits, _mm512_set1_epi16(0x7f));
  const __m512i sign = _mm512_slli_epi16(_mm512_and_si512(bits, _mm512_set1_epi16(0x80)), 8);
  __m512i value = _mm512_add_epi16(_mm512_slli_epi16(magnitude, 4), _mm512_set1_epi16(0x3c00));
  const __mmask32 small = _mm512_cmplt_epu16_mask(magnitude, _mm512_set1_epi16(8));
  value = _mm512_mask_permutexvar_epi16(value, small, magnitude, subnormals);
  const __mmask32 nan = _mm512_cmpeq_epi16_mask(magnitude, _mm512_set1_epi16(0x7f));
  value = _mm512_mask_mov_epi16(value, nan, _mm512_set1_epi16(0x7fc0));
  return _mm512_or_si512(value, sign);
}

// Two rows of 32 columns by turns: the pairs of 16 columns each.
struct PairLine {
  __m512i low, high;
};

inline PairLine interleave(__m512i even, __m512i odd) {
  const __m512i low_half = _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39,
                                            7, 38, 6, 37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
  const __m512i high_half = _mm512_add_epi16(low_half, _mm512_set1_epi16(16));
  return {_mm512_permutex2var_epi16(even, low_half, odd), _mm512_permutex2var_epi16(even, high_half, odd)};
}

inline void store_pairs(const PairLine& line, bf16* out) {
  _mm512_storeu_si512(out, line.low);
  _mm512_storeu_si512(out + 32, line.high);
}

// The first `columns` of 32 values; the others zero.
inline __m512i load_columns(const bf16* x, int64_t columns) {
  return _mm512_maskz_loadu_epi16(static_cast<__mmask32>(columns >= 32 ? ~0u : (1u << columns) - 1u), x);
}

// Columns [c, c + 32) of a row of bf16 or fp8, whose scales are left out; zeros behind the last column.
inline __m512i row_columns(const Matrix& w, int64_t row, int64_t c, int64_t cols) {
  if (w.dtype == DType::bf16) return load_columns(reinterpret_cast<const bf16*>(w.row(row)) + c, cols - c);
  return widen(reinterpret_cast<const fp8_e4m3*>(w.row(row)) + c, cols - c);
}

}  // namespace
}  // namespace indexshare::cpu
