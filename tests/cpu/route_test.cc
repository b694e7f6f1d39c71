#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "cpu/every_backend.h"

namespace indexshare::cpu {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Choice {
  std::vector<int32_t> ids;
  std::vector<float> weights;
};

/// Routes one token.
Choice route(std::vector<float> logits, const std::vector<float>& bias, const RouterShape& shape) {
  Routing routing;
  every_backend(FloatType::f32)
      .front()
      ->route(Tensor(logits.data(), 1, std::ssize(logits)), bias, shape, routing);
  EXPECT_EQ(routing.experts_per_token, shape.experts_per_token);
  const auto ids = routing.ids.span();
  const auto weights = routing.weights.span();
  return {{ids.begin(), ids.end()}, {weights.begin(), weights.end()}};
}

double sigmoid(float x) {
  return 1 / (1 + std::exp(-as_double(x)));
}

/// The n first of `order` by descending value, ties to the lower index.
std::vector<int32_t> best(const std::vector<double>& values, int64_t n) {
  std::vector<int32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return values[static_cast<size_t>(a)] > values[static_cast<size_t>(b)];
  });
  order.resize(static_cast<size_t>(n));
  std::sort(order.begin(), order.end());
  return order;
}

/// By the formula (MODEL: 3.5), in double.
std::vector<int32_t> expected_ids(const std::vector<float>& logits, const std::vector<float>& bias,
                                  const RouterShape& shape) {
  std::vector<double> choices;
  for (size_t e = 0; e < logits.size(); ++e) choices.push_back(sigmoid(logits[e]) + as_double(bias[e]));
  const size_t width = choices.size() / static_cast<size_t>(shape.groups);
  std::vector<double> groups;
  for (int64_t g = 0; g < shape.groups; ++g) {
    std::vector<double> members(choices.begin() + g * static_cast<int64_t>(width),
                                choices.begin() + (g + 1) * static_cast<int64_t>(width));
    std::sort(members.rbegin(), members.rend());
    groups.push_back(shape.groups > 1 ? members[0] + members[1] : 0);
  }
  const std::vector<int32_t> kept = best(groups, shape.kept_groups);
  for (size_t e = 0; e < choices.size(); ++e) {
    if (!std::ranges::binary_search(kept, static_cast<int32_t>(e / width))) choices[e] = -HUGE_VAL;
  }
  return best(choices, shape.experts_per_token);
}

void expect_weights(const Choice& choice, const std::vector<float>& logits, const RouterShape& shape) {
  double sum = 1e-20;
  for (const int32_t e : choice.ids) sum += sigmoid(logits[static_cast<size_t>(e)]);
  for (size_t i = 0; i < choice.ids.size(); ++i) {
    const double score = sigmoid(logits[static_cast<size_t>(choice.ids[i])]);
    const double exact = (shape.normalise ? score / sum : score) * as_double(shape.scaling);
    // exp, a sum and a quotient in each score; their sum; a quotient and a product
    const double relative = 2 * (kExpError + gamma_of(2)) + gamma_of(shape.experts_per_token + 3);
    EXPECT_NEAR(choice.weights[i], exact, relative * exact);
  }
}

constexpr RouterShape kShapes[] = {
    {.groups = 1, .kept_groups = 1, .experts_per_token = 1, .normalise = true, .scaling = 1.0f},
    {.groups = 1, .kept_groups = 1, .experts_per_token = 4, .normalise = true, .scaling = 2.5f},
    {.groups = 1, .kept_groups = 1, .experts_per_token = 4, .normalise = false, .scaling = 2.5f},
    {.groups = 1, .kept_groups = 1, .experts_per_token = 16, .normalise = true, .scaling = 2.5f},
    {.groups = 4, .kept_groups = 2, .experts_per_token = 3, .normalise = true, .scaling = 2.5f},
    {.groups = 8, .kept_groups = 1, .experts_per_token = 2, .normalise = true, .scaling = 1.0f},
    {.groups = 2, .kept_groups = 2, .experts_per_token = 9, .normalise = true, .scaling = 1.0f},
};

TEST(Route, ChoosesByScoreAndBiasAndWeighsByScore) {
  Random random(1);
  for (const RouterShape& shape : kShapes) {
    for (int round = 0; round < 50; ++round) {
      // Logits far apart in steps of 1/8 and a bias in steps of 1/4: sums differ by far more than rounding
      // does.
      std::vector<float> logits = random.integers(16, 20), bias = random.integers(16, 3);
      for (size_t e = 0; e < logits.size(); ++e) {
        logits[e] = logits[e] / 8 + static_cast<float>(e) / 256;  // no ties here
        bias[e] /= 4;
      }
      const Choice choice = route(logits, bias, shape);
      ASSERT_EQ(choice.ids, expected_ids(logits, bias, shape));
      expect_weights(choice, logits, shape);
    }
  }
}

TEST(Route, TiesGoToTheLowerExpert) {
  const std::vector<float> equal(8, 0.5f), no_bias(8, 0.0f);
  EXPECT_EQ(route(equal, no_bias, {.experts_per_token = 3}).ids, (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(route({1, 2, 3, 3, 3, 2, 1, 3}, no_bias, {.experts_per_token = 3}).ids,
            (std::vector<int32_t>{2, 3, 4}));
  EXPECT_EQ(route(equal, no_bias, {.groups = 4, .kept_groups = 2, .experts_per_token = 4}).ids,
            (std::vector<int32_t>{0, 1, 2, 3}));
}

TEST(Route, AGroupCountsByItsTwoBest) {
  const RouterShape shape = {.groups = 2, .kept_groups = 1, .experts_per_token = 2};
  const std::vector<float> no_bias(6, 0.0f);
  // the largest single score is in the first group, the largest pair in the second
  EXPECT_EQ(route({4, -4, -4, 1, 1, -4}, no_bias, shape).ids, (std::vector<int32_t>{3, 4}));
  EXPECT_EQ(route({1, 1, 1, 2, 0.9f, -9}, no_bias, shape).ids, (std::vector<int32_t>{3, 4}));
}

TEST(Route, NaNCountsAsMinusInfinity) {
  const std::vector<float> no_bias(6, 0.0f);
  EXPECT_EQ(route({kNan, -3, kNan, 1, -9, kNan}, no_bias, {.experts_per_token = 3}).ids,
            (std::vector<int32_t>{1, 3, 4}));
  EXPECT_EQ(route(std::vector<float>(6, kNan), no_bias, {.experts_per_token = 2}).ids,
            (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(route(std::vector<float>(6, 1.0f), {0, kNan, 0, 0, 0, 0}, {.experts_per_token = 2}).ids,
            (std::vector<int32_t>{0, 2}));
}

TEST(Route, ExtremeLogitsGiveFiniteWeights) {
  for (const std::vector<float>& logits :
       {std::vector<float>{kInf, -kInf, 100, -100}, std::vector<float>{-kInf, -kInf, -1e30f, -200}}) {
    const Choice choice =
        route(logits, std::vector<float>(4, 0.0f), {.experts_per_token = 3, .scaling = 2.5f});
    for (const float weight : choice.weights) EXPECT_TRUE(std::isfinite(weight) && weight >= 0);
  }
}

TEST(Route, EveryTokenOfABatchAsAlone) {
  Random random(2);
  constexpr int64_t kTokens = 9;
  const std::vector<float> bias = random.normals(16);
  for (const RouterShape& shape : kShapes) {
    Rows logits = random_rows(kTokens, 16, random, 3);
    Routing routing;
    every_backend(FloatType::f32).back()->route(logits.view(), bias, shape, routing);
    for (int64_t t = 0; t < kTokens; ++t) {
      const Choice alone = route({logits.row(t).begin(), logits.row(t).end()}, bias, shape);
      for (size_t i = 0; i < alone.ids.size(); ++i) {
        const int64_t at = t * shape.experts_per_token + static_cast<int64_t>(i);
        EXPECT_EQ(routing.ids[at], alone.ids[i]);
        EXPECT_EQ(routing.weights[at], alone.weights[i]);
      }
    }
  }
}

}  // namespace
}  // namespace indexshare::cpu
