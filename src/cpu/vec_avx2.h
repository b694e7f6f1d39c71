// The vector type of the AVX2 table (with FMA and F16C): 8 lanes of f32. See simd_kernels.h for its contract.
#pragma once

#include <immintrin.h>

#include "base/dtype.h"

namespace indexshare::cpu {
namespace {

struct Avx2 {
  using F = __m256;
  static constexpr int kLanes = 8;
  static constexpr int kDotRows = 3, kDotCols = 4;          // register block of matmul: 12 sums
  static constexpr int kCombineRows = 2, kCombineVecs = 4;  // of combine: 8 sums
  static constexpr int kIndexHeads = 4;                     // of index_scores: 4 heads by 2 vectors of keys

  static F zero() { return _mm256_setzero_ps(); }
  static F set(float x) { return _mm256_set1_ps(x); }
  static F add(F a, F b) { return _mm256_add_ps(a, b); }
  static F sub(F a, F b) { return _mm256_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm256_mul_ps(a, b); }
  static F div(F a, F b) { return _mm256_div_ps(a, b); }
  static F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  static F max(F a, F b) { return _mm256_max_ps(a, b); }
  static F min(F a, F b) { return _mm256_min_ps(a, b); }
  static F round(F a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static F pow2(F n) {
    const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23));
  }
  static float sum(F a) {
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
  }
  static float largest(F a) {
    __m128 x = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    x = _mm_max_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
  }

  static __m256i mask(int64_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static F load(const float* p) { return _mm256_loadu_ps(p); }
  static F load(const float* p, int64_t n) { return _mm256_maskload_ps(p, mask(n)); }
  static void store(float* p, F a) { _mm256_storeu_ps(p, a); }
  static void store(float* p, F a, int64_t n) { _mm256_maskstore_ps(p, mask(n), a); }

  // Narrow types have no masked loads: the tail goes through a zeroed copy.
  template <typename T>
  static F load(const T* p, int64_t n) {
    T tail[kLanes] = {};
    for (int64_t i = 0; i < n; ++i) tail[i] = p[i];
    return load(tail);
  }

  static F load(const bf16* p) {
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16));
  }
  static F load(const f16* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static F load(const fp8_e4m3* p) {  // placed as an f32 exponent that is 120 too small, then scaled up
    const __m256i bits = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
    const __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7f));
    const __m256i sign = _mm256_slli_epi32(_mm256_and_si256(bits, _mm256_set1_epi32(0x80)), 24);
    const F value = _mm256_mul_ps(_mm256_castsi256_ps(_mm256_slli_epi32(magnitude, 20)), set(0x1p120f));
    const __m256i nan = _mm256_and_si256(_mm256_cmpeq_epi32(magnitude, _mm256_set1_epi32(0x7f)),
                                         _mm256_set1_epi32(0x7fc00000));
    return _mm256_or_ps(_mm256_or_ps(value, _mm256_castsi256_ps(sign)), _mm256_castsi256_ps(nan));
  }

  // 8 pairs of values, as the index cache stores them.
  static void load_pairs(const bf16* p, F& even, F& odd) {
    const __m256i pairs = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    even = _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16));
    odd = _mm256_castsi256_ps(_mm256_and_si256(pairs, _mm256_set1_epi32(static_cast<int>(0xffff0000u))));
  }
  static void load_pairs(const float* p, F& even, F& odd) {
    const F low = load(p);
    const F high = load(p + 8);
    const F even_halves = _mm256_shuffle_ps(low, high, 0x88);
    const F odd_halves = _mm256_shuffle_ps(low, high, 0xdd);
    even = _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(even_halves), 0xd8));
    odd = _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(odd_halves), 0xd8));
  }

  // Dots of int8, four values to a lane: |key| * (query with the key's sign), whose pairs fit 16 bits since
  // neither exceeds 127.
  using I = __m256i;
  struct Quads {
    __m256i values, magnitudes;
  };
  static I first_dot(int32_t) { return _mm256_setzero_si256(); }
  static Quads load_quads(const int8_t* p) {
    const __m256i values = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return {values, _mm256_abs_epi8(values)};
  }
  static I set_quad(const int8_t* p) {
    int32_t quad = 0;
    __builtin_memcpy(&quad, p, sizeof(quad));
    return _mm256_set1_epi32(quad);
  }
  static I add_dot(I sum, const Quads& keys, I q) {
    const __m256i pairs = _mm256_maddubs_epi16(keys.magnitudes, _mm256_sign_epi8(q, keys.values));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
  static F to_float(I a) { return _mm256_cvtepi32_ps(a); }

  // The upper half of each lane, rounded to nearest even; the lower half cleared.
  static F round_bf16(F a) {
    const __m256i bits = _mm256_castps_si256(a);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i up = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    const F quiet = _mm256_or_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32(0x400000)));
    const F nearest = _mm256_blendv_ps(_mm256_castsi256_ps(up), quiet, _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
    return _mm256_and_ps(nearest, _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(0xffff0000u))));
  }
  static void store(bf16* p, F a) {
    const __m256i upper = _mm256_srli_epi32(_mm256_castps_si256(round_bf16(a)), 16);
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(upper, upper), 0xd8);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_castsi256_si128(packed));
  }
};

}  // namespace
}  // namespace indexshare::cpu
