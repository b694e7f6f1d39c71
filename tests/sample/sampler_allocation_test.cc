// Counts the program's allocations, to show that a sampler at work makes none.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

#include "sample/sampler.h"

namespace {
std::atomic<int64_t> allocations{0};
}

void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  std::abort();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}

namespace indexshare {
namespace {

TEST(Sampler, AllocatesNothingAfterTheFirstToken) {
  constexpr int64_t kVocab = 20000;
  const std::vector<int32_t> prompt = {1, 2, 3};
  const std::vector<int32_t> suppressed = {7};
  Sampler sampler(SamplingParams{.top_p = 0.999f, .frequency_penalty = 0.1f, .logprobs = 5}, kVocab, prompt);
  SamplerWorkspace ws;
  std::vector<float> logits(kVocab);  // equal ones make the search for top_p go through all of them
  int64_t before = 0;
  for (int64_t position = 0; position < 4; ++position) {
    std::fill(logits.begin(), logits.end(), 1.0f);
    before = position == 1 ? allocations.load() : before;
    sampler.accept(sampler.sample(logits, position, suppressed, ws).id);
  }
  EXPECT_GT(before, 0);
  EXPECT_EQ(allocations.load(), before);
}

}  // namespace
}  // namespace indexshare
