// indexshare perplexity through the program.
#include <cmath>

#include "base/json.h"
#include "cli/run_program.h"
#include "temporary_directory.h"

namespace indexshare {
namespace {

using testing::run_program;

const std::string kPocket = std::string(INDEXSHARE_SOURCE_DIR) + "/models/pocket";
const std::string kText =
    "A parrakeet is any of numerous small slender long-tailed parrots. A harbour is a sheltered port where "
    "ships can take on or discharge cargo.";

class PerplexityCommand : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    return directory_.write(name, text).string();
  }

  Json json(std::vector<std::string> arguments, const testing::ProgramOptions& options = {}) const {
    arguments.insert(arguments.begin(), "perplexity");
    arguments.push_back("--json");
    const auto result = run_program(arguments, options);
    EXPECT_EQ(result.code, 0) << result.err;
    const auto parsed = parse_json(result.out, "the output");
    EXPECT_TRUE(parsed.ok()) << result.out;
    return parsed.ok() ? *parsed : Json();
  }

  TemporaryDirectory directory_;
};

TEST_F(PerplexityCommand, SumsItsWindowsAndTokens) {
  const Json result =
      json({kPocket, file("text", kText), "--window", "16", "--stride", "5", "--token-logprobs"});
  const auto tokens = result.at("tokens").get<int64_t>();
  ASSERT_GT(tokens, 16);
  double sum = 0;
  int64_t scored = 0;
  for (const Json& window : result.at("windows")) {
    sum += window.at("log_likelihood").get<double>();
    scored += window.at("tokens").get<int64_t>();
  }
  EXPECT_EQ(scored, tokens);
  EXPECT_NEAR(sum, result.at("log_likelihood").get<double>(), 1e-9);
  EXPECT_NEAR(result.at("perplexity").get<double>(), std::exp(-sum / static_cast<double>(tokens)), 1e-9);
  ASSERT_EQ(static_cast<int64_t>(result.at("token_logprobs").size()), tokens);
  double logprobs = 0;
  for (const Json& logprob : result.at("token_logprobs")) logprobs += logprob.get<double>();
  EXPECT_NEAR(logprobs, sum, 1e-9);
  EXPECT_TRUE(result.at("complete").get<bool>());
}

TEST_F(PerplexityCommand, TakesTextFilesIdsFilesAndTheStandardInput) {
  const auto tokens = run_program({"tokenize", kPocket, kText});
  ASSERT_EQ(tokens.code, 0) << tokens.err;
  const Json text = json({kPocket, file("text", kText)});
  EXPECT_EQ(text, json({kPocket, "-"}, {.input = kText}));
  EXPECT_EQ(text, json({kPocket, "--ids-file", file("ids", tokens.out)}));
  EXPECT_FALSE(text.contains("token_logprobs"));
  EXPECT_EQ(text.at("windows").size(), 1u);
}

TEST_F(PerplexityCommand, PrintsATableForPeople) {
  const auto result = run_program({"perplexity", kPocket, file("text", kText), "--window", "16"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("perplexity"), std::string::npos);
  EXPECT_NE(result.out.find("windows of 16 tokens, one every 8"), std::string::npos) << result.out;
}

TEST_F(PerplexityCommand, OneSentenceForEachWrongArgument) {
  const std::string text = file("text", kText);
  const auto expect = [&](int code, const std::string& sentence, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "perplexity");
    const auto result = run_program(arguments);
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_NE(result.err.find(sentence), std::string::npos) << result.err;
    EXPECT_EQ(result.out, "");
  };
  expect(2, "MODEL", {});
  expect(2, "FILE", {kPocket});
  expect(2, "FILE", {kPocket, text, "--ids-file", text});
  expect(2, "--window", {kPocket, text, "--window", "1"});
  expect(2, "--stride", {kPocket, text, "--stride", "0"});
  expect(2, "--stride", {kPocket, text, "--window", "8", "--stride", "8"});
  expect(2, "--json", {kPocket, text, "--token-logprobs"});
  expect(1, "window is 100", {kPocket, text, "--context", "50", "--window", "100"});
  expect(1, "no-file", {kPocket, (directory_ / "no-file").string()});
  expect(1, "empty", {kPocket, file("empty", "")});
  expect(1, "UTF-8", {kPocket, file("bytes", "a\xff")});
  expect(1, "at least 2", {kPocket, "--ids-file", file("one", "5")});
  expect(1, "vocabulary", {kPocket, "--ids-file", file("large", "5 999999")});
  expect(1, "item 2 is \"x\"", {kPocket, "--ids-file", file("letters", "5 x")});
  expect(1, "tokenizer.json", {std::string(INDEXSHARE_SOURCE_DIR) + "/tests/golden/data/tiny-5.2", text});
}

}  // namespace
}  // namespace indexshare
