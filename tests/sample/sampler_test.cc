#include "sample/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "sample/counter_rng.h"

namespace indexshare {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

std::vector<float> random_logits(size_t count, uint32_t seed, float scale = 3.0f) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0.0f, scale);
  std::vector<float> logits(count);
  for (float& x : logits) x = normal(generator);
  return logits;
}

struct History {
  std::vector<int32_t> prompt = {};
  std::vector<int32_t> output = {};
  std::vector<int32_t> suppressed = {};
};

/// The distribution that a token is drawn from, step by step in double over the whole vocabulary.
std::vector<double> reference_distribution(const std::vector<float>& logits, const SamplingParams& params,
                                           const History& history) {
  std::vector<double> x(logits.begin(), logits.end());
  for (const int32_t id : history.suppressed) x[id] = -kInf;
  for (const auto& [id, bias] : params.logit_bias) x[id] += bias;
  for (size_t id = 0; id < x.size(); ++id) {
    const auto in_output = std::count(history.output.begin(), history.output.end(), id);
    const bool used = in_output > 0 || std::count(history.prompt.begin(), history.prompt.end(), id) > 0;
    if (used) x[id] = x[id] > 0 ? x[id] / params.repetition_penalty : x[id] * params.repetition_penalty;
    x[id] -= params.frequency_penalty * static_cast<double>(in_output);
    x[id] -= in_output > 0 ? params.presence_penalty : 0.0;
  }
  const double largest = *std::max_element(x.begin(), x.end());
  std::vector<double> p(x.size());
  for (size_t id = 0; id < x.size(); ++id) p[id] = std::exp((x[id] - largest) / params.temperature);
  for (double& w : p) w = w < params.min_p ? 0.0 : w;

  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] > p[b]; });
  for (size_t rank = 0; rank < order.size(); ++rank) {
    if (params.top_k > 0 && rank >= static_cast<size_t>(params.top_k)) p[order[rank]] = 0.0;
  }
  const double mass = std::accumulate(p.begin(), p.end(), 0.0);
  double above = 0.0;
  for (size_t rank = 0; rank < order.size(); ++rank) {
    const double w = p[order[rank]];
    if (params.top_p < 1.0f && rank > 0 && above >= params.top_p * mass) p[order[rank]] = 0.0;
    above += w;
  }
  const double kept = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& w : p) w /= kept;
  return p;
}

std::map<int32_t, int> draw_many(const std::vector<float>& logits, const SamplingParams& params,
                                 const History& history, int draws) {
  Sampler sampler(params, static_cast<int64_t>(logits.size()), history.prompt);
  for (const int32_t id : history.output) sampler.accept(id);
  SamplerWorkspace ws;
  std::map<int32_t, int> seen;
  std::vector<float> scratch;
  for (int64_t position = 0; position < draws; ++position) {
    scratch = logits;
    ++seen[sampler.sample(scratch, position, history.suppressed, ws).id];
  }
  return seen;
}

/// Pearson's test of draws against the reference, cells with under five expected draws taken together.
/// The bound is the statistic's mean plus five standard deviations; the draws are the same in every run.
void expect_distribution(const std::vector<float>& logits, const SamplingParams& params,
                         const History& history = {}) {
  constexpr int kDraws = 5000;
  const auto p = reference_distribution(logits, params, history);
  const auto seen = draw_many(logits, params, history, kDraws);
  double chi_square = 0.0;
  double rare_expected = 0.0;
  double rare_seen = 0.0;
  int cells = 0;
  const auto add_cell = [&](double expected, double observed) {
    chi_square += (observed - expected) * (observed - expected) / expected;
    ++cells;
  };
  for (size_t id = 0; id < p.size(); ++id) {
    const auto found = seen.find(static_cast<int32_t>(id));
    const double observed = found == seen.end() ? 0.0 : found->second;
    const double expected = p[id] * kDraws;
    if (expected == 0.0) {
      EXPECT_EQ(observed, 0.0) << "token " << id << " is excluded and was drawn";
    } else if (expected < 5.0) {
      rare_expected += expected;
      rare_seen += observed;
    } else {
      add_cell(expected, observed);
    }
  }
  if (rare_expected >= 5.0) add_cell(rare_expected, rare_seen);
  ASSERT_GT(cells, 0);
  const double freedom = std::max(cells - 1, 1);
  EXPECT_LT(chi_square, freedom + 5.0 * std::sqrt(2.0 * freedom));
}

int32_t sample_once(std::vector<float> logits, const SamplingParams& params, int64_t position = 0,
                    const History& history = {}) {
  Sampler sampler(params, static_cast<int64_t>(logits.size()), history.prompt);
  for (const int32_t id : history.output) sampler.accept(id);
  SamplerWorkspace ws;
  return sampler.sample(logits, position, history.suppressed, ws).id;
}

TEST(Sampler, DrawsFromTheModelsOwnDistributionByDefault) {
  expect_distribution(random_logits(50, 1), {.seed = 1});
  expect_distribution(random_logits(5000, 2), {.seed = 2});
}

TEST(Sampler, TemperatureSharpensAndFlattens) {
  const auto logits = random_logits(200, 3);
  expect_distribution(logits, {.temperature = 0.3f, .seed = 3});
  expect_distribution(logits, {.temperature = 2.5f, .seed = 4});
}

TEST(Sampler, TopKKeepsTheBest) {
  const auto logits = random_logits(1000, 5);
  for (const int32_t k : {1, 2, 17, 999, 1000, 5000}) expect_distribution(logits, {.top_k = k, .seed = 5});
}

TEST(Sampler, TopPKeepsTheFewestThatHoldTheShare) {
  for (const float p : {0.05f, 0.5f, 0.95f, 0.9999f}) {
    expect_distribution(random_logits(1000, 6), {.top_p = p, .seed = 6});
    expect_distribution(random_logits(1000, 7, 0.1f), {.top_p = p, .seed = 7});  // beyond the first look
  }
}

TEST(Sampler, MinPKeepsWhatIsNearTheBest) {
  for (const float p : {1e-6f, 0.05f, 0.5f, 1.0f}) {
    expect_distribution(random_logits(1000, 8), {.temperature = 1.5f, .min_p = p, .seed = 8});
  }
}

TEST(Sampler, TopPCountsOverWhatMinPAndTopKKeep) {
  const auto logits = random_logits(500, 9, 0.5f);
  expect_distribution(logits, {.top_k = 40, .top_p = 0.7f, .seed = 9});
  expect_distribution(logits, {.top_p = 0.7f, .min_p = 0.4f, .seed = 10});
  expect_distribution(logits, {.temperature = 0.7f, .top_k = 100, .top_p = 0.9f, .min_p = 0.1f, .seed = 11});
}

TEST(Sampler, PenaltiesAndBiasShiftTheDistribution) {
  const auto logits = random_logits(40, 12, 1.0f);
  const History history = {.prompt = {0, 1, 2, 2, 3}, .output = {3, 4, 4, 4, 5}, .suppressed = {6, 7}};
  expect_distribution(logits, {.repetition_penalty = 1.7f, .seed = 12}, history);
  expect_distribution(logits, {.frequency_penalty = 0.8f, .seed = 13}, history);
  expect_distribution(logits, {.presence_penalty = -1.5f, .seed = 14}, history);
  expect_distribution(logits, {.logit_bias = {{1, 3.0f}, {9, -100.0f}, {6, 100.0f}}, .seed = 15}, history);
  expect_distribution(logits,
                      {.temperature = 0.8f,
                       .repetition_penalty = 1.3f,
                       .frequency_penalty = 0.5f,
                       .presence_penalty = 0.5f,
                       .logit_bias = {{4, 2.0f}},
                       .seed = 16},
                      history);
}

TEST(Sampler, RepetitionPenaltyCountsPromptAndOutputTheOthersOutputAlone) {
  const std::vector<float> logits = {2.0f, 1.9f, 1.8f, 0.0f};
  const SamplingParams repetition = {.temperature = 0.0f, .repetition_penalty = 2.0f};
  const SamplingParams presence = {.temperature = 0.0f, .presence_penalty = 1.0f};
  const SamplingParams frequency = {.temperature = 0.0f, .frequency_penalty = 0.15f};
  EXPECT_EQ(sample_once(logits, repetition, 0, {.prompt = {0}}), 1);
  EXPECT_EQ(sample_once(logits, repetition, 0, {.prompt = {0}, .output = {1}}), 2);
  EXPECT_EQ(sample_once(logits, presence, 0, {.prompt = {0, 0}}), 0);
  EXPECT_EQ(sample_once(logits, presence, 0, {.output = {0}}), 1);
  EXPECT_EQ(sample_once(logits, frequency, 0, {.prompt = {0, 0}}), 0);
  EXPECT_EQ(sample_once(logits, frequency, 0, {.output = {0}}), 1);
  EXPECT_EQ(sample_once(logits, frequency, 0, {.output = {0, 0, 1}}), 2);
}

TEST(Sampler, RepetitionPenaltyPushesNegativeLogitsDownToo) {
  EXPECT_EQ(
      sample_once({-1.0f, -1.5f}, {.temperature = 0.0f, .repetition_penalty = 2.0f}, 0, {.prompt = {0}}), 1);
}

TEST(Sampler, BiasComesBeforeTheRepetitionPenalty) {
  // (1 + 4) / 2 = 2.5 wins over 2; 1 / 2 + 4 = 4.5 would win over 3 as well.
  const SamplingParams params = {.temperature = 0.0f, .repetition_penalty = 2.0f, .logit_bias = {{0, 4.0f}}};
  EXPECT_EQ(sample_once({1.0f, 2.0f}, params, 0, {.prompt = {0}}), 0);
  EXPECT_EQ(sample_once({1.0f, 3.0f}, params, 0, {.prompt = {0}}), 1);
}

TEST(Sampler, GreedyTakesTheLowestIdOfEqualLogits) {
  EXPECT_EQ(sample_once({1.0f, 3.0f, 3.0f, 2.0f}, {.temperature = 0.0f}), 1);
  EXPECT_EQ(sample_once({-0.0f, 0.0f}, {.temperature = 0.0f}), 0);
}

TEST(Sampler, TopKKeepsTheLowestIdsOfEqualLogits) {
  const std::vector<float> logits(3000, 0.5f);
  const auto seen = draw_many(logits, {.top_k = 3}, {}, 500);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen.rbegin()->first, 2);
}

TEST(Sampler, TinyTopPKeepsOneToken) {
  auto logits = random_logits(300, 20);
  logits[17] = logits[200] = 50.0f;
  for (const float p : {0.0f, 1e-30f, 0.1f}) {
    const auto seen = draw_many(logits, {.top_p = p}, {}, 200);
    ASSERT_EQ(seen.size(), 1u);
    EXPECT_EQ(seen.begin()->first, 17);
  }
}

TEST(Sampler, TinyTemperatureIsGreedy) {
  const auto logits = random_logits(300, 21);
  const auto best = static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  for (const float t : {1e-38f, 1e-5f}) EXPECT_EQ(sample_once(logits, {.temperature = t}), best);
}

TEST(Sampler, HugeTemperatureIsUniform) {
  const std::vector<float> logits = {-100.0f, 0.0f, 100.0f, -kInf};
  const auto seen = draw_many(logits, {.temperature = 3e38f}, {}, 3000);
  ASSERT_EQ(seen.size(), 3u);
  for (const auto& [id, count] : seen) EXPECT_NEAR(count, 1000, 130) << id;  // five standard deviations
}

TEST(Sampler, NanCountsAsMinusInfinity) {
  EXPECT_EQ(sample_once({kNan, -5.0f, kNan}, {.temperature = 0.0f}), 1);
  const auto seen = draw_many({kNan, -5.0f, kNan, -5.0f, -kInf}, {}, {}, 200);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_TRUE(seen.contains(1) && seen.contains(3));
}

TEST(Sampler, PlusInfinityIsTheLargestLogit) {
  EXPECT_EQ(sample_once({1.0f, kInf, kNan}, {.temperature = 0.0f}), 1);
  const auto seen = draw_many({1.0f, kInf, kInf}, {}, {}, 200);
  EXPECT_EQ(seen.size(), 2u);
  EXPECT_FALSE(seen.contains(0));
}

TEST(Sampler, PenaltiesThatOverflowLeaveAChoice) {
  const SamplingParams params = {.repetition_penalty = 1e-37f};
  EXPECT_EQ(sample_once({100.0f, 1.0f, -3.0f}, params, 0, {.prompt = {0, 2}}), 0);
}

TEST(Sampler, SaysWhenNothingCanBeChosen) {
  std::vector<float> logits = {kNan, -kInf, kNan};
  const std::vector<int32_t> suppressed = {0};
  SamplerWorkspace ws;
  for (const float temperature : {0.0f, 1.0f}) {
    Sampler sampler({.temperature = temperature, .logprobs = 2}, 3, {});
    const auto token = sampler.sample(logits, 0, suppressed, ws);
    EXPECT_TRUE(token.exhausted);
    EXPECT_EQ(token.id, 1);
    EXPECT_EQ(token.logprob, -kInf);
    EXPECT_TRUE(token.top.empty());
  }
}

TEST(Sampler, SuppressedTokensAreNotChosenAndTheOthersAreUnharmed) {
  const History history = {.suppressed = {1, 3}};
  EXPECT_EQ(sample_once({0.0f, 9.0f, 1.0f, 8.0f}, {.temperature = 0.0f}, 0, history), 2);
  expect_distribution({1.0f, 9.0f, 1.5f, 8.0f, 0.5f}, {.seed = 22}, history);
}

TEST(Sampler, DrawDependsOnSeedAndPositionAlone) {
  const auto logits = random_logits(500, 23, 1.0f);
  const SamplingParams params = {.seed = 99};
  std::vector<int32_t> forward;
  std::vector<int32_t> backward;
  for (int64_t position = 0; position < 50; ++position)
    forward.push_back(sample_once(logits, params, position));
  SamplerWorkspace used;  // by other samplers and vocabularies in between
  for (int64_t position = 49; position >= 0; --position) {
    auto other = random_logits(3000, static_cast<uint32_t>(position));
    Sampler({.top_p = 0.9f, .logprobs = 3}, 3000, {}).sample(other, position, {}, used);
    auto scratch = logits;
    backward.push_back(Sampler(params, 500, {}).sample(scratch, position, {}, used).id);
  }
  std::reverse(backward.begin(), backward.end());
  EXPECT_EQ(forward, backward);

  int different = 0;
  for (int64_t position = 0; position < 50; ++position) {
    different += sample_once(logits, {.seed = 100}, position) != forward[static_cast<size_t>(position)];
  }
  EXPECT_GT(different, 25);
}

TEST(Sampler, DrawIsTheInverseOfTheCumulativeDistributionBestFirst) {
  const std::vector<float> logits = {std::log(0.2f), std::log(0.5f), std::log(0.3f)};
  for (int64_t position = 0; position < 200; ++position) {
    const double u = uniform_draw(5, static_cast<uint64_t>(position));
    const int32_t expected = u < 0.5 ? 1 : u < 0.8 ? 2 : 0;
    EXPECT_EQ(sample_once(logits, {.seed = 5}, position), expected) << u;
  }
}

TEST(Sampler, LogprobsAreOfTheUnchangedDistributionAndSumToOne) {
  const auto logits = random_logits(15, 24);
  double sum_of_exp = 0.0;
  for (const float x : logits) sum_of_exp += std::exp(double{x});
  const History history = {.output = {1, 2}};
  Sampler sampler({.temperature = 0.5f, .top_k = 2, .presence_penalty = 2.0f, .logprobs = 15}, 15, {});
  for (const int32_t id : history.output) sampler.accept(id);
  SamplerWorkspace ws;
  auto scratch = logits;
  const std::vector<int32_t> suppressed = {3};
  const auto token = sampler.sample(scratch, 0, suppressed, ws);

  ASSERT_TRUE(token.logprob.has_value());
  ASSERT_EQ(token.top.size(), 15u);
  double total = 0.0;
  for (size_t i = 0; i < token.top.size(); ++i) {
    const auto [id, logprob] = token.top[i];
    EXPECT_NEAR(logprob, double{logits[static_cast<size_t>(id)]} - std::log(sum_of_exp), 1e-5);
    EXPECT_LE(logprob, token.top[i > 0 ? i - 1 : 0].logprob);
    if (id == token.id) {
      EXPECT_EQ(logprob, *token.logprob);
    }
    total += std::exp(double{logprob});
  }
  EXPECT_NEAR(total, 1.0, 1e-6);
}

TEST(Sampler, LogprobsComeAsAskedFor) {
  const auto logits = random_logits(100, 25);
  SamplerWorkspace ws;
  auto scratch = logits;
  EXPECT_FALSE(Sampler({}, 100, {}).sample(scratch, 0, {}, ws).logprob.has_value());
  scratch = logits;
  const auto chosen = Sampler({.logprobs = 0}, 100, {}).sample(scratch, 0, {}, ws);
  EXPECT_TRUE(chosen.logprob.has_value());
  EXPECT_TRUE(chosen.top.empty());
  scratch = logits;
  const auto best = Sampler({.temperature = 0.0f, .logprobs = 4}, 100, {}).sample(scratch, 0, {}, ws);
  ASSERT_EQ(best.top.size(), 4u);
  EXPECT_EQ(best.top[0].id, best.id);
}

TEST(Sampler, CountsAcceptedTokens) {
  Sampler sampler({.min_tokens = 2}, 10, {});
  EXPECT_EQ(sampler.accepted(), 0);
  sampler.accept(1);
  sampler.accept(1);
  EXPECT_EQ(sampler.accepted(), sampler.params().min_tokens);
}

}  // namespace
}  // namespace indexshare
