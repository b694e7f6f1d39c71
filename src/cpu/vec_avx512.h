// The vector type of the AVX-512 table (F, BW, DQ, VL): 16 lanes of f32. See simd_kernels.h for its contract.
#pragma once

#include <immintrin.h>

#include "base/dtype.h"

namespace indexshare::cpu {
namespace {

struct Avx512 {
  using F = __m512;
  static constexpr int kLanes = 16;
  static constexpr int kDotRows = 6, kDotCols = 4;          // register block of matmul: 24 sums
  static constexpr int kCombineRows = 4, kCombineVecs = 4;  // of combine: 16 sums
  static constexpr int kIndexHeads = 16;                    // of index_scores: 16 sums of 16 keys

  static __mmask16 mask(int64_t n) { return static_cast<__mmask16>((1u << n) - 1u); }

  static F zero() { return _mm512_setzero_ps(); }
  static F set(float x) { return _mm512_set1_ps(x); }
  static F add(F a, F b) { return _mm512_add_ps(a, b); }
  static F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static F div(F a, F b) { return _mm512_div_ps(a, b); }
  static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  static F max(F a, F b) { return _mm512_max_ps(a, b); }
  static F min(F a, F b) { return _mm512_min_ps(a, b); }
  static F round(F a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static F pow2(F n) {
    const __m512i exponent = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127));
    return _mm512_castsi512_ps(_mm512_slli_epi32(exponent, 23));
  }
  static float sum(F a) { return _mm512_reduce_add_ps(a); }
  static float largest(F a) { return _mm512_reduce_max_ps(a); }

  static F load(const float* p) { return _mm512_loadu_ps(p); }
  static F load(const float* p, int64_t n) { return _mm512_maskz_loadu_ps(mask(n), p); }
  static void store(float* p, F a) { _mm512_storeu_ps(p, a); }
  static void store(float* p, F a, int64_t n) { _mm512_mask_storeu_ps(p, mask(n), a); }

  static F widen(__m256i x) {  // bf16
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
  }
  static F load(const bf16* p) { return widen(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))); }
  static F load(const bf16* p, int64_t n) { return widen(_mm256_maskz_loadu_epi16(mask(n), p)); }

  static F load(const f16* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static F load(const f16* p, int64_t n) { return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask(n), p)); }

  static F widen(__m128i x) {  // e4m3: placed as an f32 exponent that is 120 too small, then scaled up
    const __m512i bits = _mm512_cvtepu8_epi32(x);
    const __m512i magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(0x7f));
    const __m512i sign = _mm512_slli_epi32(_mm512_and_si512(bits, _mm512_set1_epi32(0x80)), 24);
    const F value = _mm512_mul_ps(_mm512_castsi512_ps(_mm512_slli_epi32(magnitude, 20)), set(0x1p120f));
    const __mmask16 nan = _mm512_cmpeq_epi32_mask(magnitude, _mm512_set1_epi32(0x7f));
    const __m512i result = _mm512_or_si512(_mm512_castps_si512(value), sign);
    return _mm512_castsi512_ps(_mm512_mask_mov_epi32(result, nan, _mm512_set1_epi32(0x7fc00000)));
  }
  static F load(const fp8_e4m3* p) { return widen(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }
  static F load(const fp8_e4m3* p, int64_t n) { return widen(_mm_maskz_loadu_epi8(mask(n), p)); }

  // 16 pairs of values, as the index cache stores them.
  static void load_pairs(const bf16* p, F& even, F& odd) {
    const __m512i pairs = _mm512_loadu_si512(p);
    even = _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16));
    odd = _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
  }
  static void load_pairs(const float* p, F& even, F& odd) {
    const __m512i step = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    const F low = load(p);
    const F high = load(p + 16);
    even = _mm512_permutex2var_ps(low, step, high);
    odd = _mm512_permutex2var_ps(low, _mm512_add_epi32(step, _mm512_set1_epi32(1)), high);
  }

  // Dots of int8, four values to a lane: |key| * (query with the key's sign), whose pairs fit 16 bits since
  // neither exceeds 127.
  using I = __m512i;
  struct Quads {
    __m512i magnitudes;
    __mmask64 negative;
  };
  static I first_dot(int32_t) { return _mm512_setzero_si512(); }
  static Quads load_quads(const int8_t* p) {
    const __m512i values = _mm512_loadu_si512(p);
    return {_mm512_abs_epi8(values), _mm512_movepi8_mask(values)};
  }
  static I set_quad(const int8_t* p) {
    int32_t quad = 0;
    __builtin_memcpy(&quad, p, sizeof(quad));
    return _mm512_set1_epi32(quad);
  }
  static I add_dot(I sum, const Quads& keys, I q) {
    const __m512i turned = _mm512_mask_sub_epi8(q, keys.negative, _mm512_setzero_si512(), q);
    const __m512i pairs = _mm512_maddubs_epi16(keys.magnitudes, turned);
    return _mm512_add_epi32(sum, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
  }
  static F to_float(I a) { return _mm512_cvtepi32_ps(a); }

  // The upper half of each lane, rounded to nearest even.
  static __m512i rounded(F a) {
    const __m512i bits = _mm512_castps_si512(a);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    const __mmask16 nan = _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
    return _mm512_mask_or_epi32(up, nan, bits, _mm512_set1_epi32(0x400000));
  }
  static F round_bf16(F a) {
    return _mm512_castsi512_ps(
        _mm512_and_si512(rounded(a), _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
  }
  static void store(bf16* p, F a) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded(a), 16)));
  }
};

}  // namespace
}  // namespace indexshare::cpu
