// Scores of given tokens against the reference's (tests/golden/data/README.md).
#include "engine/perplexity.h"

#include <cmath>
#include <numeric>

#include "base/file.h"
#include "base/json.h"
#include "checkpoint/safetensors.h"
#include "golden/support.h"

namespace indexshare {
namespace {

constexpr auto go_on = [](int64_t, int64_t) { return true; };

std::unique_ptr<ModelRunner> exact_engine(const std::string& name) {
  EngineOptions options;
  options.threads = 2;
  options.compute = FloatType::f32;
  options.cache_dtype = FloatType::f32;
  options.chunk = 10;
  return testing::load_runner(testing::golden_path(name), options);
}

// A recorded tensor's values.
template <typename T>
std::vector<T> golden(const std::string& name, const std::string& tensor_name) {
  const auto file = SafetensorsFile::open(testing::golden_path(name) / "goldens.safetensors");
  EXPECT_TRUE(file.ok());
  const StoredTensor* tensor = file->find(tensor_name);
  if (tensor == nullptr) return {};
  std::vector<T> values(tensor->bytes.size() / sizeof(T));
  std::memcpy(values.data(), tensor->bytes.data(), tensor->bytes.size());
  return values;
}

double golden_sum(const std::string& name, const std::string& prompt) {
  const auto text = read_file(testing::golden_path(name) / "manifest.json", 1 << 24);
  EXPECT_TRUE(text.ok());
  const auto json = parse_json(*text, "manifest.json");
  EXPECT_TRUE(json.ok());
  for (const Json& entry : json->at("prompts")) {
    if (entry.at("name") == prompt) return entry.at("logprob_sum").get<double>();
  }
  ADD_FAILURE() << name << " has no " << prompt;
  return 0;
}

class PerplexityGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(PerplexityGolden, TokenLogprobsOfOneWindow) {
  const auto runner = exact_engine(GetParam());
  ASSERT_NE(runner, nullptr);
  for (const std::string prompt : {"p17", "p96"}) {
    SCOPED_TRACE(prompt);
    const auto ids = golden<int32_t>(GetParam(), prompt + ".input_ids");
    const auto want = golden<float>(GetParam(), prompt + ".token_logprobs");
    Session session(*runner);
    const auto got = score_tokens(session, ids, {.window = 96, .stride = 1}, go_on);
    ASSERT_TRUE(got.ok()) << got.error().message;
    ASSERT_EQ(got->windows.size(), 1u);
    ASSERT_EQ(got->token_logprobs.size(), want.size());
    ASSERT_EQ(want.size(), ids.size() - 1);
    // Logits are within 5e-4 of the reference's, so each log-probability is within twice that.
    for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got->token_logprobs[i], want[i], 1e-3) << i;
    EXPECT_NEAR(got->windows[0].log_likelihood, golden_sum(GetParam(), prompt),
                1e-3 * static_cast<double>(want.size()));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, PerplexityGolden,
                         ::testing::Values("tiny-5.2", "tiny-5.1", "odd", "tiny-5.2-bf16", "fp8",
                                           "tiny-5.1-sharded", "mtp", "smooth-5.2-bf16"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
                           return name;
                         });

TEST(Perplexity, EachTokenButTheFirstIsScoredOnce) {
  for (int64_t tokens = 2; tokens < 40; ++tokens) {
    for (int64_t window = 2; window < 12; ++window) {
      for (int64_t stride = 1; stride < window; ++stride) {
        const auto windows = cut_windows(tokens, {.window = window, .stride = stride});
        int64_t next = 1;
        for (const ScoredWindow& w : windows) {
          EXPECT_EQ(w.first_scored, next);
          EXPECT_GT(w.scored(), 0);
          EXPECT_LE(w.end - w.begin, window);
          EXPECT_GE(w.first_scored - w.begin, w.begin == 0 ? 1 : window - stride);
          next = w.end;
        }
        EXPECT_EQ(next, tokens) << tokens << " tokens, window " << window << ", stride " << stride;
      }
    }
  }
}

// Bitwise: a window is its own short sequence, whatever the windows and chunks around it.
TEST(Perplexity, AWindowScoresAsItsTokensAlone) {
  const auto runner = exact_engine("tiny-5.2");
  ASSERT_NE(runner, nullptr);
  const auto ids = golden<int32_t>("tiny-5.2", "p96.input_ids");
  Session session(*runner);
  const auto all = score_tokens(session, ids, {.window = 40, .stride = 25}, go_on);
  ASSERT_TRUE(all.ok()) << all.error().message;
  ASSERT_EQ(all->windows.size(), 4u);  // 0-40, 25-65, 50-90, 75-96
  for (const ScoredWindow& window : all->windows) {
    const auto tokens = std::span(ids).subspan(static_cast<size_t>(window.begin),
                                               static_cast<size_t>(window.end - window.begin));
    Session alone(*runner);
    const auto one = score_tokens(alone, tokens, {.window = 40, .stride = 1}, go_on);
    ASSERT_TRUE(one.ok()) << one.error().message;
    for (int64_t i = window.first_scored; i < window.end; ++i) {
      EXPECT_EQ(all->token_logprobs[static_cast<size_t>(i - 1)],
                one->token_logprobs[static_cast<size_t>(i - window.begin - 1)]);
    }
  }
}

TEST(Perplexity, LogProbabilitiesOfAllTokensSumToOne) {
  const std::vector<float> logits = {1000.0f, 999.0f, -1e30f, 1000.5f};
  double sum = 0;
  for (int32_t id = 0; id < 4; ++id) sum += std::exp(log_probability(logits, id));
  EXPECT_NEAR(sum, 1.0, 1e-12);
  EXPECT_NEAR(log_probability(std::vector<float>(64, 3.0f), 5), -std::log(64.0), 1e-12);
  EXPECT_DOUBLE_EQ(perplexity(-std::log(8.0) * 5, 5), 8.0);
}

TEST(Perplexity, RefusesWhatItCannotScore) {
  const auto runner = exact_engine("tiny-5.2");
  ASSERT_NE(runner, nullptr);
  Session session(*runner);
  const auto message = [&](std::vector<int32_t> ids, PerplexityOptions options) {
    const auto result = score_tokens(session, ids, options, go_on);
    return result.ok() ? std::string("scored") : result.error().message;
  };
  const auto vocab_size = static_cast<int32_t>(runner->config().vocab_size);
  EXPECT_EQ(message({1, 2}, {.window = 2, .stride = 1}), "scored");
  EXPECT_NE(message({1}, {.window = 2, .stride = 1}).find("at least 2"), std::string::npos);
  EXPECT_NE(message({1, 2}, {.window = 1, .stride = 1}).find("window is 1"), std::string::npos);
  EXPECT_NE(message({1, 2}, {.window = 4, .stride = 4}).find("stride is 4"), std::string::npos);
  // The last token is never run, only looked up: it is checked all the same.
  EXPECT_NE(message({1, vocab_size}, {.window = 2, .stride = 1}).find("vocabulary"), std::string::npos);
  EXPECT_NE(message({1, -1}, {.window = 2, .stride = 1}).find("vocabulary"), std::string::npos);
  EXPECT_NE(message({1, 2}, {.window = int64_t{1} << 30, .stride = 1}).find("context"), std::string::npos);
}

TEST(Perplexity, StoppingKeepsTheWindowsThatWereDone) {
  const auto runner = exact_engine("tiny-5.2");
  ASSERT_NE(runner, nullptr);
  const auto ids = golden<int32_t>("tiny-5.2", "p96.input_ids");
  Session session(*runner);
  const auto result =
      score_tokens(session, ids, {.window = 40, .stride = 20}, [](int64_t done, int64_t total) {
        EXPECT_EQ(total, 39 + 39 + 39 + 35);
        return done < 50;
      });
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_FALSE(result->is_complete);
  ASSERT_EQ(result->windows.size(), 1u);
  EXPECT_EQ(result->token_logprobs.size(), 39u);
}

}  // namespace
}  // namespace indexshare
