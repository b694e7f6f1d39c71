#include "sample/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>

namespace indexshare {
namespace {

constexpr int64_t kVocab = 100;

std::string message(const std::function<void(SamplingParams&)>& change) {
  SamplingParams params;
  change(params);
  const auto result = validate(params, kVocab);
  return result.ok() ? "" : result.error().message;
}

TEST(SamplingParams, DefaultsAndBoundsAreAccepted) {
  EXPECT_TRUE(validate(SamplingParams{}, kVocab).ok());
  SamplingParams least{.temperature = 0.0f,
                       .top_k = -1,
                       .top_p = 0.0f,
                       .repetition_penalty = 1e-3f,
                       .frequency_penalty = -2.0f,
                       .presence_penalty = -2.0f,
                       .logit_bias = {{0, -100.0f}, {99, 100.0f}},
                       .logprobs = 0};
  EXPECT_TRUE(validate(least, kVocab).ok());
  SamplingParams most{
      .top_k = 1000000, .min_p = 1.0f, .frequency_penalty = 2.0f, .presence_penalty = 2.0f, .logprobs = 20};
  EXPECT_TRUE(validate(most, kVocab).ok());
}

TEST(SamplingParams, RefusalsNameTheParameterItsValueAndTheRange) {
  EXPECT_EQ(message([](auto& p) { p.temperature = -0.5f; }),
            "temperature is -0.5, expected a finite number of at least 0");
  EXPECT_EQ(message([](auto& p) { p.top_p = 1.5f; }), "top_p is 1.5, expected a number from 0 to 1");
  EXPECT_EQ(message([](auto& p) { p.min_p = -0.25f; }), "min_p is -0.25, expected a number from 0 to 1");
  EXPECT_EQ(message([](auto& p) { p.repetition_penalty = 0.0f; }),
            "repetition_penalty is 0, expected a finite number above 0");
  EXPECT_EQ(message([](auto& p) { p.frequency_penalty = 2.5f; }),
            "frequency_penalty is 2.5, expected a number from -2 to 2");
  EXPECT_EQ(message([](auto& p) { p.presence_penalty = -3.0f; }),
            "presence_penalty is -3, expected a number from -2 to 2");
  EXPECT_EQ(message([](auto& p) { p.top_k = -2; }),
            "top_k is -2, expected a count of at least 1, or 0 or -1 for all tokens");
  EXPECT_EQ(message([](auto& p) { p.min_tokens = -1; }), "min_tokens is -1, expected a count of at least 0");
  EXPECT_EQ(message([](auto& p) { p.logprobs = 21; }), "logprobs is 21, expected a count from 0 to 20");
  EXPECT_EQ(message([](auto& p) {
              p.logit_bias = {{100, 1.0f}};
            }),
            "logit_bias names the token 100, expected an id from 0 to 99");
  EXPECT_EQ(message([](auto& p) {
              p.logit_bias = {{-1, 1.0f}};
            }),
            "logit_bias names the token -1, expected an id from 0 to 99");
  EXPECT_EQ(message([](auto& p) {
              p.logit_bias = {{3, -100.5f}};
            }),
            "logit_bias of the token 3 is -100.5, expected a number from -100 to 100");
}

TEST(SamplingParams, NanAndInfinityAreRefusedEverywhere) {
  for (const float bad :
       {std::nanf(""), std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
    for (auto member : {&SamplingParams::temperature, &SamplingParams::top_p, &SamplingParams::min_p,
                        &SamplingParams::repetition_penalty, &SamplingParams::frequency_penalty,
                        &SamplingParams::presence_penalty}) {
      EXPECT_NE(message([&](auto& p) { p.*member = bad; }), "");
    }
    EXPECT_NE(message([&](auto& p) { p.logit_bias = {{1, bad}}; }), "");
  }
}

}  // namespace
}  // namespace indexshare
