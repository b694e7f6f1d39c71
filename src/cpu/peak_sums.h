// The loop that a vector unit's peak is measured with; to be included by the files of one instruction set
// each.
#pragma once

#include <cstdint>

namespace indexshare::cpu {
namespace {

// Keeps the compiler from knowing what the sums are, or that nobody asks.
template <typename V, int N>
void keep(V (&sums)[N]) {
#if defined(__x86_64__)
  for (V& sum : sums) __asm__ volatile("" : "+v"(sum));
#elif defined(__aarch64__)
  for (V& sum : sums) __asm__ volatile("" : "+w"(sum));
#endif
}

// sum = next(sum), over and over, for N sums side by side: more than latency times throughput, and registers
// for all.
template <typename V, int N, typename Next>
void repeat(int64_t rounds, Next next) {
  V sums[N] = {};
  keep(sums);
  for (int64_t i = 0; i < rounds; ++i) {
    for (V& sum : sums) sum = next(sum);
  }
  keep(sums);
}

}  // namespace
}  // namespace indexshare::cpu
