#include "model/parameters.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace indexshare {
namespace {

const std::filesystem::path kSource = INDEXSHARE_SOURCE_DIR;

TEST(Parameters, OfGlm52AreThePublishedOnes) {
  auto config = load_config(kSource / "models/glm-5.2");
  ASSERT_TRUE(config.ok());
  const ParameterCount count = count_parameters(*config);
  EXPECT_NEAR(static_cast<double>(count.active()), 40.30e9, 0.005e9);
  EXPECT_NEAR(static_cast<double>(count.total()), 743.3e9, 0.5e9);
  EXPECT_NEAR(static_cast<double>(count.active_experts + count.shared_experts), 75 * 9 * 3.0 * 2048 * 6144,
              1);

  config->indexer_full.assign(78, true);  // GLM-5 and 5.1
  EXPECT_NEAR(static_cast<double>(count_parameters(*config).active()), 40.83e9, 0.005e9);
}

TEST(Parameters, OfThePocketModelAreThoseOfItsFile) {
  const auto config = load_config(kSource / "models/pocket");
  ASSERT_TRUE(config.ok());
  const ParameterCount count = count_parameters(*config);
  EXPECT_EQ(count.total() + count.mtp, 6788672 + 7 * 8);  // matrices and norms, correction biases
  EXPECT_EQ(count.tied, 4096 * 192);
}

}  // namespace
}  // namespace indexshare
