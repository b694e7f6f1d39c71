#include "engine/memory_plan.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "golden/support.h"
#include "model/model.h"
#include "model/random_weights.h"
#include "model/weight_shapes.h"

namespace indexshare {
namespace {

constexpr int64_t kGiga = 1'000'000'000;
constexpr int64_t kMillion = 1 << 20;  // tokens

Config config_of(const char* model) {
  auto config = load_config(std::filesystem::path(INDEXSHARE_SOURCE_DIR) / model);
  if (!config.ok()) std::abort();
  return *std::move(config);
}

EngineOptions chunks_of(int64_t tokens) {
  EngineOptions options;
  options.chunk = tokens;
  return options;
}

// A model as shapes, on this machine.
struct Shapes {
  Config config;
  Weights weights;
  EngineOptions options;

  Shapes(Config model, DType dtype, const EngineOptions& wanted = {})
      : config(std::move(model)), weights(weight_shapes(config, dtype)) {
    auto resolved = resolve_options(wanted, config, weights);
    if (!resolved.ok()) std::abort();
    options = *resolved;
  }

  MemoryPlan plan(const MemoryLoad& load) const {
    return plan_memory(config, weights, *cpu::choose_kernels().value(), options, load);
  }
  CacheLayout layout() const { return cache_layout(config, dtype_of(*options.cache_dtype)); }
};

TEST(MemoryPlan, OfGlm52AtAMillionTokens) {
  const Shapes glm(config_of("models/glm-5.2"), DType::bf16);
  const MemoryPlan plan = glm.plan({.context = kMillion});
  EXPECT_EQ(plan.latent_cache, int64_t{78} * 576 * 2 * kMillion);
  EXPECT_EQ(plan.index_cache, int64_t{21} * 128 * 2 * kMillion);
  const ParameterCount count = count_parameters(glm.config);
  const int64_t held_as_f32 = count.norms + 78 * (2048 + 512) + 21 * 2 * 128 + 75 * 256;
  EXPECT_EQ(plan.weights.total(), 2 * count.total() + 2 * held_as_f32);
  EXPECT_EQ(plan.weights.routed_experts, 2 * count.routed_experts);
  EXPECT_GT(plan.weights.mtp, 2 * count.mtp) << "in no sum: it is not used";
  EXPECT_LT(plan.workspace() + plan.process, 2 * kGiga) << "nothing else grows with the context";
  EXPECT_EQ(plan.total(), plan.weights.total() + plan.cache() + plan.workspace() + plan.process);

  const Shapes fp8(config_of("models/glm-5.2"), DType::fp8_e4m3);
  const double ratio = static_cast<double>(fp8.plan({.context = kMillion}).weights.total()) /
                       static_cast<double>(plan.weights.total());
  EXPECT_NEAR(ratio, 0.5, 0.005) << "scales, and what stays in bf16";
}

TEST(MemoryPlan, GrowsWithWhatIsAsked) {
  const Shapes glm(config_of("models/glm-5.2"), DType::bf16, chunks_of(64));
  const MemoryPlan small = glm.plan({.context = 1000});
  EXPECT_EQ(glm.plan({.context = 1000, .batch = 3}).cache(), 3 * small.cache());
  EXPECT_EQ(glm.plan({.context = 1024}).cache(), small.cache()) << "whole pages";
  EXPECT_GT(glm.plan({.context = 1025}).cache(), small.cache());
  EXPECT_GT(glm.plan({.context = 1000, .batch = 65}).workspace(), small.workspace());
  EXPECT_EQ(glm.plan({.context = 1000, .tokenizer_bytes = 1000}).process, small.process + 5000);
  const Shapes chunk(config_of("models/glm-5.2"), DType::bf16, chunks_of(512));
  EXPECT_GT(chunk.plan({.context = 1000}).activations, 7 * small.activations);
  EXPECT_EQ(chunk.plan({.context = 64}).activations, glm.plan({.context = 64}).activations)
      << "no chunk is longer than the context";
  EngineOptions in_f32 = chunks_of(64);
  in_f32.cache_dtype = FloatType::f32;
  const Shapes f32(config_of("models/glm-5.2"), DType::bf16, in_f32);
  EXPECT_EQ(f32.plan({.context = 1000}).cache(), 2 * small.cache());
}

// What the backend says beforehand, against what it holds after a chunk at full depth.
TEST(MemoryPlan, OfTheBackendIsWhatItHolds) {
  for (const char* model : {"models/pocket", "tests/golden/data/odd", "tests/golden/data/fp8"}) {
    for (const DType dtype : {DType::f32, DType::bf16, DType::fp8_e4m3}) {
      const Config config = config_of(model);
      EngineOptions options = chunks_of(128);
      options.threads = 2;
      options.context = 256;
      const auto runner =
          ModelRunner::create(config, random_weights(config, dtype, 1).value(), options).value();
      const std::vector<int32_t> tokens(256, 1);
      Session session(*runner);
      ASSERT_TRUE(
          session
              .append(
                  tokens, LogitsFor::last, [](int64_t, Tensor) {}, [](int64_t, int64_t) { return true; })
              .ok());
      const int64_t planned = runner->memory_plan().backend;
      const int64_t held = runner->backend().held_bytes();
      EXPECT_LE(held, planned) << model << " in " << dtype_name(dtype);
      EXPECT_GE(held, planned * 8 / 10)
          << model << " in " << dtype_name(dtype);  // candidates are not counted
    }
  }
}

// -------------------------------------------------------------------------------------- staying inside
// memory

class FitMemory : public ::testing::Test {
 protected:
  Result<void> fit(int64_t memory, bool mapped = true, bool asked = false) {
    return fit_memory(plan_, shapes_.layout(), memory, mapped, asked, shapes_.options);
  }
  const EngineOptions& options() const { return shapes_.options; }

  static EngineOptions for_command_line() {
    EngineOptions options;
    options.prefix = "--";
    return options;
  }

  Shapes shapes_{config_of("models/glm-5.2"), DType::bf16, for_command_line()};
  const MemoryPlan plan_ = shapes_.plan({.context = kMillion});
  const int64_t experts_ = plan_.weights.routed_experts;
  const int64_t fixed_ = plan_.total() - plan_.cache();
};

TEST_F(FitMemory, LeavesTheRestToTheCaches) {
  ASSERT_TRUE(fit(plan_.total()).ok());
  EXPECT_EQ(options().context, kMillion);
  EXPECT_EQ(options().cache_bytes, plan_.cache() + experts_) << "mapped experts may leave memory";
}

TEST_F(FitMemory, BoundsAContextThatNobodyAskedFor) {
  ASSERT_TRUE(fit(fixed_ - experts_ + plan_.cache() / 2).ok());
  EXPECT_EQ(options().cache_bytes, plan_.cache() / 2);
  EXPECT_EQ(options().context, kMillion / 2);
}

TEST_F(FitMemory, RefusesAContextThatDoesNotFit) {
  const auto result = fit(fixed_ - experts_ + plan_.cache() / 2, /*mapped=*/true, /*asked=*/true);
  ASSERT_FALSE(result.ok());
  const std::string& message = result.error().message;
  EXPECT_TRUE(message.starts_with("--context is 1048576, whose cache takes 99.86 GB; the 49.93 GB"))
      << message;
  EXPECT_TRUE(message.ends_with("of available memory hold at most 524288 tokens")) << message;
}

TEST_F(FitMemory, RefusesWhatLeavesNoCache) {
  const auto result = fit(fixed_ - experts_);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("workspace of --chunk 512 leave no cache in"), std::string::npos)
      << result.error().message;
}

TEST_F(FitMemory, HoldsWeightsInMemoryAgainstTheLimitThatWasGiven) {
  shapes_.options.ram_bytes = fixed_ + plan_.cache();
  ASSERT_TRUE(fit(shapes_.options.ram_bytes, /*mapped=*/false).ok());
  EXPECT_EQ(options().cache_bytes, plan_.cache());
}

TEST_F(FitMemory, CountsWeightsInMemoryAsTakenAlready) {
  ASSERT_TRUE(fit(plan_.workspace() + plan_.process + plan_.cache(), /*mapped=*/false).ok());
  EXPECT_EQ(options().cache_bytes, plan_.cache());
}

TEST_F(FitMemory, KeepsABoundOfTheCache) {
  shapes_.options.cache_bytes = plan_.cache() / 4;
  ASSERT_TRUE(fit(plan_.total()).ok());
  EXPECT_EQ(options().cache_bytes, plan_.cache() / 4);
  EXPECT_EQ(options().context, kMillion) << "the bound is for all sequences together";
  const auto asked = fit(plan_.total(), /*mapped=*/true, /*asked=*/true);
  ASSERT_FALSE(asked.ok());
  EXPECT_NE(asked.error().message.find("of --cache-memory hold at most 262144 tokens"), std::string::npos)
      << asked.error().message;
  shapes_.options.cache_bytes = plan_.cache() + 1;
  const auto beyond = fit(fixed_ - experts_ + plan_.cache());
  ASSERT_FALSE(beyond.ok());
  EXPECT_TRUE(beyond.error().message.starts_with("--cache-memory is 99.86 GB, but beside"))
      << beyond.error().message;
}

TEST_F(FitMemory, DoesWithoutALimit) {
  ASSERT_TRUE(fit(std::numeric_limits<int64_t>::max()).ok());
  EXPECT_EQ(options().context, kMillion);
}

TEST(EngineMemory, IsSettledWhenAModelIsLoaded) {
  EngineOptions options;
  options.ram_bytes = 60 << 20;
  auto runner = testing::load_runner(testing::pocket_path(), options);
  ASSERT_NE(runner, nullptr);
  EXPECT_LT(runner->options().context, runner->config().max_position_embeddings);
  EXPECT_GT(runner->options().context, 1000);
  EXPECT_EQ(runner->pool().budget_bytes(), runner->options().cache_bytes);
  EXPECT_LE(runner->memory_plan().without_experts(), options.ram_bytes);

  options.context = runner->config().max_position_embeddings;
  const auto refused = ModelRunner::load(testing::pocket_path(), options);
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(refused.error().message.starts_with("context is 131072, whose cache takes 180.4 MB"))
      << refused.error().message;
}

}  // namespace
}  // namespace indexshare
