#include "cpu/peak_loops.h"

namespace indexshare::cpu {
namespace {

constexpr int kSums = 32;  // enough to hide the latency of an addition, for any vectors the compiler uses

// Keeps the compiler from knowing what the sums are, or that nobody asks.
void keep(float (&sums)[kSums]) {
  __asm__ volatile("" : : "r"(&sums) : "memory");
}

void f32(int64_t rounds) {
  float sums[kSums] = {};
  keep(sums);
  for (int64_t i = 0; i < rounds; ++i) {
    for (float& sum : sums) sum = sum * 0.5f + 0.5f;
  }
  keep(sums);
}

constexpr PeakLoop kLoops[] = {{"scalar", "f32", "as compiled", 2 * kSums, f32}};

}  // namespace

std::span<const PeakLoop> scalar_peak_loops() {
  return kLoops;
}

}  // namespace indexshare::cpu
