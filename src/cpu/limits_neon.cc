#include <arm_neon.h>

#include "cpu/peak_loops.h"
#include "cpu/peak_sums.h"

namespace indexshare::cpu {
namespace {

constexpr int kSums = 24;

void f32(int64_t rounds) {
  const float32x4_t half = vdupq_n_f32(0.5f);
  repeat<float32x4_t, kSums>(rounds, [&](float32x4_t sum) { return vfmaq_f32(sum, half, half); });
}

void int8(int64_t rounds) {
  int8x16_t x = vdupq_n_s8(3);
  const int8x16_t y = vdupq_n_s8(5);
  repeat<int32x4_t, kSums>(rounds, [&](int32x4_t sum) {
    __asm__ volatile("" : "+w"(x));  // or the compiler would multiply only once
    const int16x8_t low = vmull_s8(vget_low_s8(x), vget_low_s8(y));
    return vpadalq_s16(sum, vpaddq_s16(low, vmull_high_s8(x, y)));
  });
}

constexpr PeakLoop kLoops[] = {
    {"neon", "f32", "fmla", int64_t{2} * kSums * 4, f32},
    {"neon", "int8", "smull, smull2, addp, sadalp", int64_t{2} * kSums * 16, int8},
};

}  // namespace

std::span<const PeakLoop> neon_peak_loops() {
  return kLoops;
}

}  // namespace indexshare::cpu
