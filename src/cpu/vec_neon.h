// The vector type of the NEON table (AArch64 as such, which has fused multiply-adds and conversions from
// f16): 4 lanes of f32. See simd_kernels.h for its contract.
#pragma once

#include <arm_neon.h>

#include "base/dtype.h"

namespace indexshare::cpu {
namespace {

struct Neon {
  using F = float32x4_t;
  static constexpr int kLanes = 4;
  static constexpr int kDotRows = 4, kDotCols = 4;          // register block of matmul: 16 sums
  static constexpr int kCombineRows = 4, kCombineVecs = 4;  // of combine: 16 sums
  static constexpr int kIndexHeads = 4;                     // of index_scores: 4 heads by 4 vectors of keys

  static F zero() { return vdupq_n_f32(0.0f); }
  static F set(float x) { return vdupq_n_f32(x); }
  static F add(F a, F b) { return vaddq_f32(a, b); }
  static F sub(F a, F b) { return vsubq_f32(a, b); }
  static F mul(F a, F b) { return vmulq_f32(a, b); }
  static F div(F a, F b) { return vdivq_f32(a, b); }
  static F fma(F a, F b, F c) { return vfmaq_f32(c, a, b); }
  static F max(F a, F b) { return vmaxq_f32(a, b); }  // NaN where either is
  static F min(F a, F b) { return vminq_f32(a, b); }
  static F round(F a) { return vrndnq_f32(a); }
  static F pow2(F n) {
    const int32x4_t exponent = vaddq_s32(vcvtnq_s32_f32(n), vdupq_n_s32(127));
    return vreinterpretq_f32_s32(vshlq_n_s32(exponent, 23));
  }
  static float sum(F a) { return vaddvq_f32(a); }  // (a0 + a1) + (a2 + a3)
  static float largest(F a) { return vmaxvq_f32(a); }

  static F load(const float* p) { return vld1q_f32(p); }
  static F load(const bf16* p) {
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(reinterpret_cast<const uint16_t*>(p)), 16));
  }
  static F load(const f16* p) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(reinterpret_cast<const uint16_t*>(p))));
  }
  static F load(const fp8_e4m3* p) {  // placed as an f32 exponent that is 120 too small, then scaled up
    uint32_t four = 0;
    __builtin_memcpy(&four, p, sizeof(four));
    const uint32x4_t bits = vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(four))));
    const uint32x4_t magnitude = vandq_u32(bits, vdupq_n_u32(0x7f));
    const uint32x4_t sign = vshlq_n_u32(vandq_u32(bits, vdupq_n_u32(0x80)), 24);
    const F value = vmulq_f32(vreinterpretq_f32_u32(vshlq_n_u32(magnitude, 20)), set(0x1p120f));
    const uint32x4_t nan = vandq_u32(vceqq_u32(magnitude, vdupq_n_u32(0x7f)), vdupq_n_u32(0x7fc00000));
    return vreinterpretq_f32_u32(vorrq_u32(vorrq_u32(vreinterpretq_u32_f32(value), sign), nan));
  }
  static void store(float* p, F a) { vst1q_f32(p, a); }

  // There are no masked loads and stores: tails go through a copy.
  template <typename T>
  static F load(const T* p, int64_t n) {
    T tail[kLanes] = {};
    for (int64_t i = 0; i < n; ++i) tail[i] = p[i];
    return load(tail);
  }
  static void store(float* p, F a, int64_t n) {
    float tail[kLanes];
    store(tail, a);
    for (int64_t i = 0; i < n; ++i) p[i] = tail[i];
  }

  // 4 pairs of values, as the index cache stores them.
  static void load_pairs(const bf16* p, F& even, F& odd) {
    const uint32x4_t pairs = vreinterpretq_u32_u16(vld1q_u16(reinterpret_cast<const uint16_t*>(p)));
    even = vreinterpretq_f32_u32(vshlq_n_u32(pairs, 16));
    odd = vreinterpretq_f32_u32(vandq_u32(pairs, vdupq_n_u32(0xffff0000u)));
  }
  static void load_pairs(const float* p, F& even, F& odd) {
    const float32x4x2_t pairs = vld2q_f32(p);
    even = pairs.val[0];
    odd = pairs.val[1];
  }

  // Dots of int8, four values to a lane. The sum of two products fits 16 bits since no factor exceeds 127.
  using I = int32x4_t;
  using Quads = int8x16_t;
  static I first_dot(int32_t) { return vdupq_n_s32(0); }
  static Quads load_quads(const int8_t* p) { return vld1q_s8(p); }
  static Quads set_quad(const int8_t* p) {
    int32_t quad = 0;
    __builtin_memcpy(&quad, p, sizeof(quad));
    return vreinterpretq_s8_s32(vdupq_n_s32(quad));
  }
  static I add_dot(I sum, Quads keys, Quads q) {
    const int16x8_t low = vmull_s8(vget_low_s8(keys), vget_low_s8(q));
    const int16x8_t high = vmull_high_s8(keys, q);
    return vpadalq_s16(sum, vpaddq_s16(low, high));
  }
  static F to_float(I a) { return vcvtq_f32_s32(a); }

  // The upper half of each lane, rounded to nearest even; the lower half cleared.
  static F round_bf16(F a) {
    const uint32x4_t bits = vreinterpretq_u32_f32(a);
    const uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    const uint32x4_t up = vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7fff)));
    const uint32x4_t quiet = vorrq_u32(bits, vdupq_n_u32(0x400000));
    const uint32x4_t nearest = vbslq_u32(vceqq_f32(a, a), up, quiet);
    return vreinterpretq_f32_u32(vandq_u32(nearest, vdupq_n_u32(0xffff0000u)));
  }
  static void store(bf16* p, F a) {
    const uint32x4_t rounded = vreinterpretq_u32_f32(round_bf16(a));
    vst1_u16(reinterpret_cast<uint16_t*>(p), vshrn_n_u32(rounded, 16));
  }
};

}  // namespace
}  // namespace indexshare::cpu
