// What must hold for every model and every prompt: a token's result depends on its own sequence alone.
#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "golden/support.h"

namespace indexshare {
namespace {

using testing::Trace;

std::vector<int32_t> random_tokens(int64_t n, uint32_t seed, int64_t vocab_size) {
  std::mt19937 generator(seed);
  std::vector<int32_t> tokens;
  while (std::ssize(tokens) < n) {
    tokens.push_back(static_cast<int32_t>(generator() % static_cast<uint32_t>(vocab_size)));
  }
  return tokens;
}

// The two ways of computing: as the goldens ask for it, and as checkpoints in bf16 are run.
class PropertyTest : public ::testing::TestWithParam<FloatType> {
 protected:
  EngineOptions options(int threads = 2) const {
    EngineOptions o;
    o.threads = threads;
    o.compute = GetParam();
    return o;
  }
};
INSTANTIATE_TEST_SUITE_P(Compute, PropertyTest, ::testing::Values(FloatType::f32, FloatType::bf16),
                         [](const auto& instance) {
                           return instance.param == FloatType::f32 ? "f32" : "bf16";
                         });

Trace run_alone(ModelRunner& runner, std::span<const int32_t> tokens, int64_t chunk) {
  Session session(runner);
  Trace trace(runner.config());
  testing::run(session, tokens, chunk, trace);
  return trace;
}

void expect_same_logits(const Trace& a, const Trace& b, size_t from = 0) {
  ASSERT_EQ(a.logits.size(), b.logits.size());
  for (size_t t = from; t < a.logits.size(); ++t) {
    ASSERT_TRUE(testing::same_bits(a.logits[t], b.logits[t])) << "token " << t;
  }
}

// Sequences of different lengths advance together, each by a different number of tokens per step.
TEST_P(PropertyTest, ASequenceInABatchOfFourIsTheSequenceAlone) {
  const auto runner = testing::load_runner(testing::golden_path("tiny-5.2-bf16"), options());
  ASSERT_NE(runner, nullptr);
  const std::vector<int64_t> lengths = {90, 33, 130, 64}, steps = {7, 1, 40, 16};
  std::vector<std::vector<int32_t>> tokens;
  std::vector<SequenceCache> caches;
  std::vector<std::vector<std::vector<float>>> logits(4);
  for (size_t i = 0; i < 4; ++i) {
    tokens.push_back(random_tokens(lengths[i], static_cast<uint32_t>(i), runner->config().vocab_size));
    caches.emplace_back(runner->pool());
  }
  for (bool more = true; more;) {
    more = false;
    BatchBuilder builder;
    std::vector<size_t> owners;
    for (size_t i = 0; i < 4; ++i) {
      const int64_t n = std::min(steps[i], lengths[i] - caches[i].length());
      if (n == 0) continue;
      more = true;
      const auto part =
          std::span(tokens[i]).subspan(static_cast<size_t>(caches[i].length()), static_cast<size_t>(n));
      ASSERT_TRUE(caches[i].extend(n).ok());
      builder.add(caches[i], part, LogitsFor::all);
      owners.insert(owners.end(), static_cast<size_t>(n), i);
    }
    if (!more) break;
    const Tensor rows = runner->forward(builder.batch());
    for (int64_t t = 0; t < rows.rows; ++t) {
      logits[owners[static_cast<size_t>(t)]].emplace_back(rows.row(t), rows.row(t) + rows.cols);
    }
  }
  for (size_t i = 0; i < 4; ++i) {
    SCOPED_TRACE(i);
    const Trace alone = run_alone(*runner, tokens[i], 1000);
    ASSERT_EQ(alone.logits.size(), logits[i].size());
    for (size_t t = 0; t < logits[i].size(); ++t) {
      ASSERT_TRUE(testing::same_bits(alone.logits[t], logits[i][t])) << "token " << t;
    }
  }
}

TEST_P(PropertyTest, ChunksAndThreadsChangeNothing) {
  const auto tokens = random_tokens(700, 5, 4000);
  std::optional<Trace> first;
  for (const int threads : {1, 2, 3}) {
    const auto runner = testing::load_runner(testing::pocket_path(), options(threads));
    ASSERT_NE(runner, nullptr);
    for (const int64_t chunk : {700, 512, 64, 63, 17}) {
      const Trace trace = run_alone(*runner, tokens, chunk);
      if (!first) first = trace;
      SCOPED_TRACE("chunks of " + std::to_string(chunk) + ", " + std::to_string(threads) + " threads");
      expect_same_logits(*first, trace);
    }
  }
}

// Screening by keys in 8 bits leaves out only what cannot be selected: on the pocket model, in any chunks and
// on any number of threads, and on one with shapes that no vector divides.
TEST_P(PropertyTest, ScreenedIndexKeysChangeNothing) {
  for (const auto& [path, length] :
       {std::pair(testing::pocket_path(), 700), std::pair(testing::golden_path("odd"), 130)}) {
    SCOPED_TRACE(path);
    const auto plain = testing::load_runner(path, options());
    ASSERT_NE(plain, nullptr);
    ASSERT_GT(length, 2 * plain->config().index_topk);
    const auto tokens = random_tokens(length, 14, plain->config().vocab_size);
    const Trace expected = run_alone(*plain, tokens, length);
    for (const int threads : {1, 2, 3}) {
      EngineOptions screening = options(threads);
      screening.index_keys = IndexKeys::screened;
      const auto screened = testing::load_runner(path, screening);
      ASSERT_NE(screened, nullptr);
      for (const int64_t chunk : {length, 64, 7, 1}) {
        const Trace trace = run_alone(*screened, tokens, chunk);
        SCOPED_TRACE("chunks of " + std::to_string(chunk) + ", " + std::to_string(threads) + " threads");
        EXPECT_EQ(expected.selections, trace.selections);
        expect_same_logits(expected, trace);
      }
    }
  }
}

TEST_P(PropertyTest, TruncateAndReplayGivesTheSame) {
  const auto runner = testing::load_runner(testing::pocket_path(), options());
  ASSERT_NE(runner, nullptr);
  const auto tokens = random_tokens(200, 6, 4000);
  const Trace whole = run_alone(*runner, tokens, 200);
  for (const int64_t length : {0, 1, 15, 16, 63, 64, 65, 127, 128, 129, 199}) {
    Session session(*runner);
    Trace trace(runner->config());
    testing::run(session, tokens, 50, trace);
    const auto other = random_tokens(40, 7, 4000);
    testing::run(session, other, 40, trace);  // something else stood there in the meantime
    session.truncate(length);
    ASSERT_EQ(std::ssize(session.tokens()), length);
    trace.logits.resize(static_cast<size_t>(length));
    testing::run(session, std::span(tokens).subspan(static_cast<size_t>(length)), 30, trace);
    SCOPED_TRACE(length);
    expect_same_logits(whole, trace);
  }
}

// The pocket model selects 64 tokens.
TEST_P(PropertyTest, SparseEqualsDenseUpToIndexTopkAndDiffersBeyond) {
  const auto sparse = testing::load_runner(testing::pocket_path(), options());
  ASSERT_NE(sparse, nullptr);
  auto config = load_config(testing::pocket_path());
  ASSERT_TRUE(config.ok());
  const int64_t k = config->index_topk;
  config->index_topk = 100000;
  Weights weights = sparse->model().weights();
  const auto dense = ModelRunner::create(*config, std::move(weights), options());
  ASSERT_TRUE(dense.ok()) << dense.error().message;
  const auto tokens = random_tokens(2 * k + 1, 8, 4000);
  const Trace a = run_alone(*sparse, tokens, 50);
  const Trace b = run_alone(**dense, tokens, 50);
  for (int64_t t = 0; t < k; ++t) {
    ASSERT_TRUE(testing::same_bits(a.logits[static_cast<size_t>(t)], b.logits[static_cast<size_t>(t)])) << t;
  }
  EXPECT_FALSE(testing::same_bits(a.logits.back(), b.logits.back()));
  for (const auto& layer : a.selections) {
    for (const int64_t keys : {k - 1, k, k + 1, 2 * k}) {
      const auto& selected = layer[static_cast<size_t>(keys - 1)];
      ASSERT_EQ(std::ssize(selected), std::min(keys, k));
      EXPECT_TRUE(std::is_sorted(selected.begin(), selected.end()));
      EXPECT_LT(selected.back(), keys);
      EXPECT_EQ(std::adjacent_find(selected.begin(), selected.end()), selected.end());
    }
  }
}

TEST_P(PropertyTest, OnlyFullLayersSelect) {
  const auto runner = testing::load_runner(testing::pocket_path(), options());
  ASSERT_NE(runner, nullptr);
  EXPECT_EQ(runner->config().schedule(), "FFFSSSF");
  const Trace trace = run_alone(*runner, random_tokens(100, 9, 4000), 100);
  EXPECT_EQ(trace.selections.size(), 4u);
  EXPECT_EQ(runner->pool().layout().index_slot, (std::vector<int>{0, 1, 2, -1, -1, -1, 3}));
}

// A shared layer that kept an older selection would not notice that its group's full layer selects otherwise.
TEST_P(PropertyTest, SharedLayersFollowTheSelectionOfTheirGroup) {
  auto config = load_config(testing::pocket_path());
  ASSERT_TRUE(config.ok());
  const auto runner = testing::load_runner(testing::pocket_path(), options());
  ASSERT_NE(runner, nullptr);
  const auto tokens = random_tokens(150, 10, 4000);
  const Trace original = run_alone(*runner, tokens, 150);
  Weights weights = runner->model().weights();
  // Layer 2 leads the group 2..5. With its index weights negated it prefers what it avoided.
  std::vector<float> negated(static_cast<size_t>(config->index_n_heads * config->hidden_size));
  Matrix& proj = weights.layers[2].self_attn.indexer->weights_proj;
  for (int64_t i = 0; i < proj.rows; ++i) decode_row(proj, i, negated.data() + i * proj.cols);
  for (float& x : negated) x = -x;
  proj.dtype = DType::f32;
  proj.data = reinterpret_cast<const std::byte*>(negated.data());
  auto changed = ModelRunner::create(*config, std::move(weights), options());
  ASSERT_TRUE(changed.ok()) << changed.error().message;
  const Trace trace = run_alone(**changed, tokens, 150);
  EXPECT_EQ(original.selections[1], trace.selections[1]);
  EXPECT_NE(original.selections[2], trace.selections[2]);
  for (int64_t stage = 0; stage <= 2; ++stage) {  // before layer 2 nothing changes
    EXPECT_EQ(original.hidden_rows[static_cast<size_t>(stage)],
              trace.hidden_rows[static_cast<size_t>(stage)]);
  }
  EXPECT_FALSE(testing::same_bits(original.logits.back(), trace.logits.back()));
}

TEST_P(PropertyTest, CacheMemoryFollowsTheTokens) {
  const auto runner = testing::load_runner(testing::pocket_path(), options());
  ASSERT_NE(runner, nullptr);
  EXPECT_EQ(runner->pool().pages_in_use(), 0);
  Session session(*runner);
  Trace trace(runner->config());
  testing::run(session, random_tokens(2 * kPageTokens + 2, 11, 4000), 130, trace);
  EXPECT_EQ(runner->pool().pages_in_use(), 3);
  session.truncate(kPageTokens);
  EXPECT_EQ(runner->pool().pages_in_use(), 1);
}

TEST(Session, RefusesWhatCannotBeRun) {
  EngineOptions options;
  options.context = 100;
  const auto runner = testing::load_runner(testing::pocket_path(), options);
  ASSERT_NE(runner, nullptr);
  Session session(*runner);
  auto append = [&](std::vector<int32_t> tokens) {
    return session.append(
        tokens, LogitsFor::none, [](int64_t, Tensor) {}, [](int64_t, int64_t) { return true; });
  };
  auto outside = append({1, 2, 4096});
  ASSERT_FALSE(outside.ok());
  EXPECT_EQ(outside.error().message, "token id 4096 at place 2 is outside the vocabulary of 4096 tokens");
  EXPECT_FALSE(append({-1}).ok());
  auto long_prompt = append(random_tokens(101, 12, 4000));
  ASSERT_FALSE(long_prompt.ok());
  EXPECT_EQ(long_prompt.error().message, "101 tokens are more than the context of 100");
  EXPECT_TRUE(session.tokens().empty());
  EXPECT_TRUE(append(random_tokens(100, 12, 4000)).ok());
}

TEST(Session, SaysWhenTheCacheBudgetIsSpent) {
  EngineOptions options;
  options.cache_bytes = 200000;  // two pages of the pocket model in bf16
  const auto runner = testing::load_runner(testing::pocket_path(), options);
  ASSERT_NE(runner, nullptr);
  Session session(*runner);
  const auto result = session.append(
      random_tokens(300, 13, 4000), LogitsFor::none, [](int64_t, Tensor) {},
      [](int64_t, int64_t) { return true; });
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("200000 bytes allowed"), std::string::npos) << result.error().message;
}

}  // namespace
}  // namespace indexshare
