#include "cpu/peak_loops.h"

namespace indexshare::cpu {
namespace {

constexpr int kSums = 32;  // enough to hide the latency of an addition, for any vectors the compiler uses

volatile float outside;  // so that the compiler knows neither where a sum begins nor that nobody asks

void f32(int64_t rounds) {
  float sums[kSums];
  for (float& sum : sums) sum = outside;
  for (int64_t i = 0; i < rounds; ++i) {
    for (float& sum : sums) sum = sum * 0.5f + 0.5f;
  }
  for (const float sum : sums) outside = sum;
}

constexpr PeakLoop kLoops[] = {{"scalar", "f32", "as compiled", 2 * kSums, f32}};

}  // namespace

std::span<const PeakLoop> scalar_peak_loops() {
  return kLoops;
}

}  // namespace indexshare::cpu
