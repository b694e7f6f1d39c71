// Requests that cannot be met, stop strings, and models whose logits are no numbers.
#include "engine/generate.h"

#include <gtest/gtest.h>

#include "engine/stop_matcher.h"
#include "golden/support.h"

namespace indexshare {
namespace {

Result<GenerationResult> run(Engine& engine, const GenerationRequest& request) {
  Session session(engine);
  return generate(
      session, request, [](const GeneratedPiece&) { return true; }, [](int64_t, int64_t) { return true; });
}

GenerationRequest greedy(std::vector<int32_t> prompt) {
  GenerationRequest request;
  request.prompt = std::move(prompt);
  request.sampling.temperature = 0;
  request.max_tokens = 8;
  return request;
}

TEST(Generate, RefusesRequestsThatCannotBeMet) {
  const auto engine = testing::load_engine(testing::pocket_path(), {});
  ASSERT_NE(engine, nullptr);
  auto message = [&](const GenerationRequest& request) {
    const auto result = run(*engine, request);
    return result.ok() ? std::string("done") : result.error().message;
  };
  EXPECT_EQ(message(greedy({1, 2, 3})), "done");
  EXPECT_EQ(message(greedy({})), "the prompt is empty: at least one token is needed");
  EXPECT_EQ(message(greedy({4096})), "prompt token id 4096 is outside the vocabulary of 4096 tokens");
  GenerationRequest request = greedy({1});
  request.sampling.min_tokens = 9;
  EXPECT_EQ(message(request), "min_tokens is 9, more than max_tokens 8");
  request = greedy({1});
  request.stop_ids = {4096};
  EXPECT_EQ(message(request), "stop token id 4096 is outside the vocabulary of 4096 tokens");
  request = greedy({1});
  request.stop = {""};
  EXPECT_EQ(message(request), "a stop string is empty");
}

TEST(Generate, SaysWhenNoLogitIsANumber) {
  const auto engine = testing::load_engine(testing::pocket_path(), {});
  ASSERT_NE(engine, nullptr);
  Weights weights = engine->model().weights();
  weights.norm.assign(weights.norm.size(), std::nanf(""));
  const auto broken = Engine::create(engine->config(), std::move(weights), {});
  ASSERT_TRUE(broken.ok()) << broken.error().message;
  const auto result = run(**broken, greedy({1, 2, 3}));
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("not finite"), std::string::npos) << result.error().message;
}

// However the text is cut, what is shown ends where the first stop string begins.
TEST(StopMatcher, ShowsNothingOfAStopStringForAnyCut) {
  const std::string text = "one two STOP three";
  for (size_t first = 0; first <= text.size(); ++first) {
    for (size_t second = first; second <= text.size(); ++second) {
      StopMatcher matcher({"STOP", "twin"});
      std::string shown = matcher.push(text.substr(0, first));
      shown += matcher.push(text.substr(first, second - first));
      shown += matcher.push(text.substr(second));
      EXPECT_TRUE(matcher.stopped());
      EXPECT_EQ(shown, "one two ");
    }
  }
}

TEST(StopMatcher, ReturnsWhatItHeldBackWhenNothingStops) {
  StopMatcher matcher({"abc"});
  EXPECT_EQ(matcher.push("xab"), "x");
  EXPECT_FALSE(matcher.stopped());
  EXPECT_EQ(matcher.flush(), "ab");
}

}  // namespace
}  // namespace indexshare
