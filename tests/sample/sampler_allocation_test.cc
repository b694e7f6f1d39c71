#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "counting_new.h"
#include "sample/sampler.h"

namespace indexshare {
namespace {

TEST(Sampler, AllocatesNothingAfterTheFirstToken) {
  constexpr int64_t kVocab = 20000;
  const std::vector<int32_t> prompt = {1, 2, 3};
  const std::vector<int32_t> suppressed = {7};
  Sampler sampler(SamplingParams{.top_p = 0.999f, .frequency_penalty = 0.1f, .logprobs = 5}, kVocab, prompt);
  SamplerWorkspace ws;
  std::vector<float> logits(kVocab);
  int64_t after_first = 0;
  for (int64_t position = 0; position < 4; ++position) {
    std::fill(logits.begin(), logits.end(), 1.0f);  // so equal that the search for top_p goes through all
    sampler.accept(sampler.sample(logits, position, suppressed, ws).id);
    if (position == 0) after_first = allocations;
  }
  EXPECT_GT(after_first, 0);
  EXPECT_EQ(allocations, after_first);
}

}  // namespace
}  // namespace indexshare
