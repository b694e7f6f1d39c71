#include <immintrin.h>

#include "cpu/peak_loops.h"
#include "cpu/peak_sums.h"

namespace indexshare::cpu {
namespace {

constexpr int kSums = 16;

void f32(int64_t rounds) {
  const __m512 half = _mm512_set1_ps(0.5f);
  repeat<__m512, kSums>(rounds, [&](__m512 sum) { return _mm512_fmadd_ps(sum, half, half); });
}

void bf16(int64_t rounds) {
  const auto x = (__m512bh)_mm512_set1_epi16(0x3f80);  // ones
  repeat<__m512, kSums>(rounds, [&](__m512 sum) { return _mm512_dpbf16_ps(sum, x, x); });
}

void int8(int64_t rounds) {
  const __m512i x = _mm512_set1_epi8(3);
  repeat<__m512i, kSums>(rounds, [&](__m512i sum) { return _mm512_dpbusd_epi32(sum, x, x); });
}

constexpr PeakLoop kF32[] = {{"avx512", "f32", "vfmadd213ps", int64_t{2} * kSums * 16, f32}};
constexpr PeakLoop kInt8[] = {{"avx512_vnni", "int8", "vpdpbusd", int64_t{2} * kSums * 64, int8}};
constexpr PeakLoop kBf16[] = {{"avx512_bf16", "bf16", "vdpbf16ps", int64_t{2} * kSums * 32, bf16}};

}  // namespace

std::span<const PeakLoop> avx512_peak_loops() {
  return kF32;
}

std::span<const PeakLoop> avx512_vnni_peak_loops() {
  return kInt8;
}

std::span<const PeakLoop> avx512_bf16_peak_loops() {
  return kBf16;
}

}  // namespace indexshare::cpu
