// The published figures (MODEL: section 7) from GLM-5.2's own configuration.
#include "model/flops.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace indexshare {
namespace {

constexpr int64_t kK = 1024;
constexpr double kAllFull = 78, kOwn = 21, kOneInFour = 19.5;

Config glm52() {
  auto config = load_config(std::filesystem::path(INDEXSHARE_SOURCE_DIR) / "models/glm-5.2");
  EXPECT_TRUE(config.ok()) << config.error().message;
  return std::move(config).value();
}

double total(double full_layers, int64_t context, AttentionForm form) {
  return static_cast<double>(flops_per_token(glm52(), full_layers, context, form).total());
}

double speedup(double full_layers, int64_t context, AttentionForm form) {
  return total(kAllFull, context, form) / total(full_layers, context, form);
}

TEST(Flops, PublishedTotalsAtOneMillionTokens) {
  EXPECT_EQ(glm52().full_layers(), 21);
  EXPECT_NEAR(total(kAllFull, 1024 * kK, AttentionForm::expanded), 0.762e12, 0.0005e12);
  EXPECT_NEAR(total(kOwn, 1024 * kK, AttentionForm::expanded), 0.271e12, 0.0005e12);
}

TEST(Flops, PublishedRatios) {
  const auto expect = [](double ratio, double full_layers, int64_t context, AttentionForm form) {
    EXPECT_NEAR(speedup(full_layers, context, form), ratio, 0.005) << full_layers << " of 78 at " << context;
  };
  expect(2.81, kOwn, 1024 * kK, AttentionForm::expanded);
  expect(2.73, kOwn, 1024 * kK, AttentionForm::latent);
  expect(2.95, kOneInFour, 1024 * kK, AttentionForm::expanded);
  expect(2.86, kOneInFour, 1024 * kK, AttentionForm::latent);
  expect(1.17, kOwn, 32 * kK, AttentionForm::expanded);
  expect(1.55, kOwn, 128 * kK, AttentionForm::expanded);
  expect(1.91, kOwn, 256 * kK, AttentionForm::expanded);
  expect(2.36, kOwn, 512 * kK, AttentionForm::expanded);
}

// What is left without attention and scores is twice the weights that one token meets.
TEST(Flops, ActiveParametersOfTheFormula) {
  const auto active = [](double full_layers) {
    const FlopCount count = flops_per_token(glm52(), full_layers, 0, AttentionForm::expanded);
    EXPECT_EQ(count[Part::attention], 0);
    return static_cast<double>(count.total()) / 2;
  };
  EXPECT_NEAR(active(kAllFull), 40.83e9, 0.005e9);
  EXPECT_NEAR(active(kOwn), 40.30e9, 0.005e9);
}

TEST(Flops, PartsOfOneTokenByHand) {
  const int64_t context = 4096;
  const FlopCount count = flops_per_token(glm52(), kOwn, context, AttentionForm::latent);
  EXPECT_EQ(count[Part::index],
            2 * 21 * (2048 * 32 * 128 + 6144 * 128 + 6144 * 32) + 2LL * 21 * 32 * 128 * context);
  EXPECT_EQ(count[Part::attention], 2LL * 78 * 64 * 2048 * (576 + 512));
  EXPECT_EQ(
      count[Part::projections],
      2LL * 78 * (6144 * 2048 + 2048 * 64 * 256 + 6144 * 576 + 512 * 64 * (192 + 256) + 64 * 256 * 6144));
  EXPECT_EQ(count[Part::experts],
            2 * (3LL * 3 * 6144 * 12288 + 75LL * (6144 * 256 + (8 + 1) * 3 * 6144 * 2048)));
  EXPECT_EQ(count[Part::head], 2LL * 6144 * 154880);
  EXPECT_EQ(count[Part::other], 0);
}

TEST(Flops, ABatchIsTheSumOfItsTokens) {
  const Config config = glm52();
  const int64_t beyond = config.index_topk + 100;
  const std::vector<int32_t> positions = {static_cast<int32_t>(beyond - 1), 0};
  const FlopCount far = flops_per_token(config, kOwn, beyond, AttentionForm::latent);
  const FlopCount first = flops_per_token(config, kOwn, 1, AttentionForm::latent);
  const FlopCount batch = batch_flops(config, positions, 1);
  EXPECT_EQ(batch[Part::attention], far[Part::attention] + first[Part::attention]);
  EXPECT_EQ(batch[Part::projections], 2 * far[Part::projections]);
  EXPECT_EQ(batch[Part::experts], 2 * far[Part::experts]);
  EXPECT_EQ(batch[Part::head], far[Part::head]);
  // The formula scores the single token of the second sequence, the engine does not.
  EXPECT_EQ(batch[Part::index], far[Part::index] + first[Part::index] - 2 * 21 * 32 * 128);
}

TEST(Flops, ScoringBeginsBeyondIndexTopk) {
  const Config config = glm52();
  const auto index = [&](int64_t context) {
    const auto position = static_cast<int32_t>(context - 1);
    return batch_flops(config, std::span(&position, 1), 0)[Part::index];
  };
  EXPECT_EQ(index(config.index_topk), index(1));
  EXPECT_EQ(index(config.index_topk + 1) - index(1), 2 * 21 * 32 * 128 * (config.index_topk + 1));
}

}  // namespace
}  // namespace indexshare
