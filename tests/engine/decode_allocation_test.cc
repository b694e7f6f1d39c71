// Once a sequence decodes, a further token takes no memory from the system.
#include <gtest/gtest.h>

#include <algorithm>

#include "counting_new.h"
#include "golden/support.h"
#include "sample/sampler.h"

namespace indexshare {
namespace {

// Appends one token and samples the next.
class Decoder {
 public:
  Decoder(ModelRunner& runner, std::span<const int32_t> prompt)
      : session_(runner),
        sampler_({.temperature = 1.0f, .top_p = 0.95f}, runner.config().vocab_size, prompt) {
    run(prompt);
  }

  int64_t length() const { return std::ssize(session_.tokens()); }
  void step() { run({&next_, 1}); }

 private:
  void run(std::span<const int32_t> tokens) {
    const auto ran = session_.append(
        tokens, LogitsFor::last,
        [&](int64_t, Tensor logits) {
          const std::span<float> row(logits.row(0), static_cast<size_t>(logits.cols));
          next_ = sampler_.sample(row, length(), {}, workspace_).id;
        },
        [](int64_t, int64_t) { return true; });
    ASSERT_TRUE(ran.ok()) << ran.error().message;
    sampler_.accept(next_);
  }

  Session session_;
  Sampler sampler_;
  SamplerWorkspace workspace_;
  int32_t next_ = 0;
};

class DecodeAllocation : public ::testing::TestWithParam<std::tuple<const char*, FloatType, int>> {};

// A page boundary is the exception: the page comes from the pool, which asks
// the system slab by slab, and the sequence notes it.
TEST_P(DecodeAllocation, IsNoneButForPages) {
  const auto [model, compute, threads] = GetParam();
  EngineOptions options;
  options.compute = compute;
  options.threads = threads;
  const auto runner = testing::load_runner(std::filesystem::path(INDEXSHARE_SOURCE_DIR) / model, options);
  ASSERT_NE(runner, nullptr);
  // Past index_topk, so that every full layer scores keys and selects.
  const int64_t prompt = 2 * runner->config().index_topk + 1;
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < prompt; ++i) {
    ids.push_back(static_cast<int32_t>(i * 37 % runner->config().vocab_size));
  }
  Decoder decoder(*runner, ids);
  decoder.step();  // the first decode step: fewer tokens are cut into other work
                   // items
  for (int i = 0; i < 100; ++i) {
    const bool needs_page = decoder.length() % kPageTokens == 0;
    const int64_t before = allocations;
    decoder.step();
    if (!needs_page) {
      EXPECT_EQ(allocations - before, 0) << "token " << decoder.length();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, DecodeAllocation,
                         ::testing::Combine(::testing::Values("models/pocket", "tests/golden/data/tiny-5.2",
                                                              "tests/golden/data/odd"),
                                            ::testing::Values(FloatType::f32, FloatType::bf16),
                                            ::testing::Values(1, 2)));

}  // namespace
}  // namespace indexshare
