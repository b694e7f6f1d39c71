#include <immintrin.h>

#include "cpu/peak_loops.h"
#include "cpu/peak_sums.h"

namespace indexshare::cpu {
namespace {

constexpr int kSums = 12;

void f32(int64_t rounds) {
  const __m256 half = _mm256_set1_ps(0.5f);
  repeat<__m256, kSums>(rounds, [&](__m256 sum) { return _mm256_fmadd_ps(sum, half, half); });
}

void int8(int64_t rounds) {
  const __m256i one = _mm256_set1_epi16(1);
  __m256i x = _mm256_set1_epi8(3);
  const __m256i y = _mm256_set1_epi8(5);
  repeat<__m256i, kSums>(rounds, [&](__m256i sum) {
    __asm__ volatile("" : "+x"(x));  // or the compiler would multiply only once
    return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(x, y), one));
  });
}

constexpr PeakLoop kLoops[] = {
    {"avx2", "f32", "vfmadd213ps", int64_t{2} * kSums * 8, f32},
    {"avx2", "int8", "vpmaddubsw, vpmaddwd, vpaddd", int64_t{2} * kSums * 32, int8},
};

}  // namespace

std::span<const PeakLoop> avx2_peak_loops() {
  return kLoops;
}

}  // namespace indexshare::cpu
