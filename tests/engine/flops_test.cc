// What the backend counts while it runs, against the formula: equal to the last operation, part by part.
#include "model/flops.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "golden/support.h"

namespace indexshare {
namespace {

constexpr const char* kPocket = "pocket";

FlopCount counted(const Work& work) {
  FlopCount count;
  for (size_t i = 0; i < count.by_part.size(); ++i) count.by_part[i] = work.flops(static_cast<Part>(i));
  return count;
}

std::string text(const FlopCount& count) {
  std::string line;
  for (size_t i = 0; i < count.by_part.size(); ++i) {
    line += std::string(part_name(static_cast<Part>(i))) + " " + std::to_string(count.by_part[i]) + "  ";
  }
  return line;
}

class CountedFlops : public ::testing::TestWithParam<std::tuple<const char*, FloatType, int>> {
 protected:
  void SetUp() override {
    const auto [name, compute, threads] = GetParam();
    EngineOptions options;
    options.compute = compute;
    options.threads = threads;
    runner_ = testing::load_runner(
        name == std::string(kPocket) ? testing::pocket_path() : testing::golden_path(name), options);
    ASSERT_NE(runner_, nullptr);
  }

  // Any ids will do; these send tokens to different experts.
  std::vector<int32_t> tokens(int64_t count) const {
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < count; ++i) {
      ids.push_back(static_cast<int32_t>(i * 37 % runner_->config().vocab_size));
    }
    return ids;
  }

  // Extends each cache by its number of tokens, in one batch, and compares.
  void run_and_compare(std::span<SequenceCache*> caches, std::span<const int64_t> counts, LogitsFor logits) {
    builder_.clear();
    for (size_t i = 0; i < caches.size(); ++i) {
      ASSERT_TRUE(caches[i]->extend(counts[i]).ok());
      builder_.add(*caches[i], tokens(counts[i]), logits);
    }
    const Batch batch = builder_.batch();
    const Work before = runner_->model().backend().profile().work();
    runner_->forward(batch);
    const FlopCount got = counted(runner_->model().backend().profile().work() - before);
    const FlopCount want = batch_flops(runner_->config(), batch.positions, std::ssize(batch.logit_rows));
    EXPECT_EQ(got, want) << "counted  " << text(got) << "\nformula  " << text(want) << "\nfirst position "
                         << batch.position(0) << ", " << batch.rows() << " rows";
    total_ += got.total();
  }

  void run_and_compare(SequenceCache& cache, int64_t count, LogitsFor logits) {
    SequenceCache* caches[] = {&cache};
    run_and_compare(caches, std::span(&count, 1), logits);
  }

  std::unique_ptr<ModelRunner> runner_;
  BatchBuilder builder_;
  int64_t total_ = 0;
};

TEST_P(CountedFlops, PrefillInChunksAcrossIndexTopk) {
  const int64_t k = runner_->config().index_topk;
  for (const int64_t chunk : {int64_t{1}, int64_t{7}, k, 3 * k}) {
    SequenceCache cache(runner_->pool());
    while (cache.length() < 3 * k) {
      run_and_compare(cache, std::min(chunk, 3 * k - cache.length()), LogitsFor::last);
    }
  }
}

TEST_P(CountedFlops, DecodeAroundIndexTopk) {
  const int64_t k = runner_->config().index_topk;
  for (const int64_t context : {int64_t{1}, k - 1, k, k + 1, 2 * k, 4 * k}) {
    SequenceCache cache(runner_->pool());
    if (context > 1) run_and_compare(cache, context - 1, LogitsFor::none);
    const int64_t before = std::exchange(total_, 0);
    run_and_compare(cache, 1, LogitsFor::last);
    // One token with its logits is what the published formula speaks of, once there is something to score.
    const Config& config = runner_->config();
    const FlopCount published =
        flops_per_token(config, static_cast<double>(config.full_layers()), context, AttentionForm::latent);
    if (context > k) {
      EXPECT_EQ(total_, published.total()) << "context " << context;
    } else {
      const int64_t unscored =
          2 * config.full_layers() * config.index_n_heads * config.index_head_dim * context;
      EXPECT_EQ(total_, published.total() - unscored) << "context " << context;
    }
    total_ += before;
  }
}

TEST_P(CountedFlops, BatchesOfPromptsAndDecodeSteps) {
  const int64_t k = runner_->config().index_topk;
  SequenceCache a(runner_->pool()), b(runner_->pool()), c(runner_->pool()), d(runner_->pool());
  SequenceCache* caches[] = {&a, &b, &c, &d};
  for (const LogitsFor logits : {LogitsFor::none, LogitsFor::last, LogitsFor::all}) {
    run_and_compare(caches, std::vector<int64_t>{1, k + 3, 5, k / 2}, logits);
    run_and_compare(caches, std::vector<int64_t>{1, 1, 1, 1}, logits);
  }
}

std::string case_name(const ::testing::TestParamInfo<CountedFlops::ParamType>& info) {
  const auto [name, compute, threads] = info.param;
  std::string text = name;
  std::replace_if(
      text.begin(), text.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return text + (compute == FloatType::f32 ? "_f32_" : "_bf16_") + std::to_string(threads);
}

INSTANTIATE_TEST_SUITE_P(Models, CountedFlops,
                         ::testing::Combine(::testing::Values("tiny-5.2", "tiny-5.1", "odd", "fp8", "mtp",
                                                              "smooth-5.2-bf16", kPocket),
                                            ::testing::Values(FloatType::f32, FloatType::bf16),
                                            ::testing::Values(1, 2)),
                         case_name);

// The counters are Session's too: a prompt and an answer, as `generate` runs them.
TEST(CountedFlopsOfASession, PromptAndDecode) {
  EngineOptions options;
  options.threads = 2;
  options.chunk = 50;
  const auto runner = testing::load_runner(testing::pocket_path(), options);
  ASSERT_NE(runner, nullptr);
  const Work before = runner->model().backend().profile().work();
  const int64_t prompt = 3 * runner->config().index_topk + 5;
  const std::vector<int32_t> ids(static_cast<size_t>(prompt), 17);
  Session session(*runner);
  const auto ignore = [](int64_t, Tensor) {};
  const auto go_on = [](int64_t, int64_t) { return true; };
  ASSERT_TRUE(session.append(ids, LogitsFor::last, ignore, go_on).ok());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(session.append(std::span(ids).first(1), LogitsFor::last, ignore, go_on).ok());
  }
  std::vector<int32_t> positions(static_cast<size_t>(prompt) + 3);
  std::iota(positions.begin(), positions.end(), 0);
  EXPECT_EQ(counted(runner->model().backend().profile().work() - before),
            batch_flops(runner->config(), positions, 1 + 3));
}

}  // namespace
}  // namespace indexshare
