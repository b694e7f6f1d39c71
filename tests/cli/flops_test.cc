// indexshare flops through the program.
#include "base/json.h"
#include "cli/run_program.h"

namespace indexshare {
namespace {

using testing::run_program;

const std::string kGlm52 = std::string(INDEXSHARE_SOURCE_DIR) + "/models/glm-5.2";
const std::string kPocket = std::string(INDEXSHARE_SOURCE_DIR) + "/models/pocket";

Json flops_json(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "flops");
  arguments.push_back("--json");
  const auto result = run_program(arguments);
  EXPECT_EQ(result.code, 0) << result.err;
  const auto parsed = parse_json(result.out, "the output");
  EXPECT_TRUE(parsed.ok()) << result.out;
  return parsed.ok() ? *parsed : Json();
}

TEST(FlopsCommand, PublishedRatiosOfALoneConfig) {
  const Json json = flops_json({kGlm52 + "/config.json", "--context", "1M"});
  ASSERT_EQ(json.at("contexts").size(), 1u);
  const Json& entry = json.at("contexts").front();
  EXPECT_EQ(entry.at("context"), 1 << 20);
  const auto ratio = [&](const char* form, const char* schedule) {
    return entry.at(form).at(schedule).at("all_full_ratio").get<double>();
  };
  EXPECT_NEAR(ratio("expanded", "model"), 2.81, 0.005);
  EXPECT_NEAR(ratio("latent", "model"), 2.73, 0.005);
  EXPECT_NEAR(ratio("expanded", "one_in_four"), 2.95, 0.005);
  EXPECT_NEAR(ratio("latent", "one_in_four"), 2.86, 0.005);
  EXPECT_EQ(ratio("expanded", "all_full"), 1.0);
  EXPECT_EQ(entry.at("expanded").at("one_in_four").at("full_layers"), 19.5);
  EXPECT_EQ(entry.at("engine").at("total"), entry.at("latent").at("model").at("total"));
}

TEST(FlopsCommand, PartsAddUpToTheTotal) {
  const Json json = flops_json({kPocket});
  ASSERT_EQ(json.at("contexts").size(), 6u);
  for (const Json& entry : json.at("contexts")) {
    for (const char* form : {"expanded", "latent"}) {
      for (const auto& [name, count] : entry.at(form).items()) {
        int64_t sum = 0;
        for (const char* part : {"index", "attention", "projections", "experts", "head"}) {
          sum += count.at(part).get<int64_t>();
        }
        EXPECT_EQ(sum, count.at("total").get<int64_t>()) << form << " " << name;
      }
    }
  }
}

TEST(FlopsCommand, ContextsInTokensOrShort) {
  const Json json = flops_json({kPocket, "--context", "100", "2K", "1M"});
  ASSERT_EQ(json.at("contexts").size(), 3u);
  EXPECT_EQ(json.at("contexts")[0].at("context"), 100);
  EXPECT_EQ(json.at("contexts")[1].at("context"), 2048);
  EXPECT_EQ(json.at("contexts")[2].at("context"), 1 << 20);
}

TEST(FlopsCommand, TheTableNamesBothConventions) {
  const auto result = run_program({"flops", kGlm52, "--context", "1M"});
  ASSERT_EQ(result.code, 0) << result.err;
  for (const char* text : {"published", "256 + 256", "576 + 512", "1,048,576", "762.148", "271.453", "2.81x",
                           "2.73x", "2.95x", "2.86x", "19.5", "one in four"}) {
    EXPECT_NE(result.out.find(text), std::string::npos) << text << " is not in\n" << result.out;
  }
}

TEST(FlopsCommand, OneSentenceForEachWrongArgument) {
  const auto expect = [](int code, const std::string& sentence, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "flops");
    const auto result = run_program(arguments);
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_NE(result.err.find(sentence), std::string::npos) << result.err;
    EXPECT_EQ(result.out, "");
  };
  expect(2, "MODEL_OR_CONFIG", {});
  for (const char* context : {"0", "-1", "x", "1.5", "1k", "2048M", "", "K", "99999999999999999999"}) {
    expect(2, "--context", {kPocket, std::string("--context=") + context});
  }
  expect(1, "no-model", {"no-model"});
  expect(1, "tokenizer.json", {kPocket + "/tokenizer.json"});
}

}  // namespace
}  // namespace indexshare
