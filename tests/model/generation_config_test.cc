#include "model/generation_config.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "temporary_directory.h"

namespace indexshare {
namespace {

const std::filesystem::path kSource = INDEXSHARE_SOURCE_DIR;

Config config() {
  Config config;
  config.vocab_size = 100;
  config.eos_token_ids = {5, 6};
  return config;
}

Result<GenerationConfig> parse(std::string_view text) {
  return parse_generation_config(SortedJson::parse(text), config(), "g");
}

std::string message(std::string_view text) {
  const auto generation = parse(text);
  return generation.ok() ? "" : generation.error().message;
}

TEST(GenerationConfig, ReadsGlm52) {
  const auto model = load_config(kSource / "models/glm-5.2");
  ASSERT_TRUE(model.ok());
  const auto generation = load_generation_config(kSource / "models/glm-5.2", *model);
  ASSERT_TRUE(generation.ok()) << generation.error().message;
  EXPECT_EQ(generation->eos_token_ids, (std::vector<int32_t>{154820, 154827, 154829}));
  EXPECT_EQ(generation->pad_token_id, 154820);
  EXPECT_EQ(generation->bos_token_id, std::nullopt);
  EXPECT_EQ(generation->temperature, 1.0f);
  EXPECT_EQ(generation->top_p, 0.95f);
  EXPECT_EQ(generation->top_k, 0);
}

TEST(GenerationConfig, WithoutAFileTheDefaultsHold) {
  const TemporaryDirectory directory;
  const auto generation = load_generation_config(directory.path(), config());
  ASSERT_TRUE(generation.ok());
  EXPECT_EQ(generation->eos_token_ids, (std::vector<int32_t>{5, 6}));
  EXPECT_EQ(generation->temperature, 1.0f);
  EXPECT_EQ(generation->top_p, 1.0f);
  EXPECT_EQ(generation->repetition_penalty, 1.0f);
  EXPECT_EQ(generation->max_new_tokens, std::nullopt);
}

TEST(GenerationConfig, ItsStopTokensReplaceThoseOfTheConfig) {
  EXPECT_EQ(parse(R"({"eos_token_id": [7]})")->eos_token_ids, std::vector<int32_t>{7});
  EXPECT_EQ(parse(R"({"eos_token_id": 8})")->eos_token_ids, std::vector<int32_t>{8});
  EXPECT_EQ(parse(R"({"eos_token_id": null})")->eos_token_ids, (std::vector<int32_t>{5, 6}));
  EXPECT_EQ(parse("{}")->eos_token_ids, (std::vector<int32_t>{5, 6}));
}

TEST(GenerationConfig, ReadsEveryField) {
  const auto generation = parse(R"({"bos_token_id": 0, "pad_token_id": 9, "temperature": 0.5, "top_p": 0.25,
      "top_k": 40, "min_p": 0.125, "repetition_penalty": 1.25, "max_new_tokens": 64, "do_sample": true})");
  ASSERT_TRUE(generation.ok());
  EXPECT_EQ(generation->bos_token_id, 0);
  EXPECT_EQ(generation->pad_token_id, 9);
  EXPECT_EQ(generation->temperature, 0.5f);
  EXPECT_EQ(generation->top_p, 0.25f);
  EXPECT_EQ(generation->top_k, 40);
  EXPECT_EQ(generation->min_p, 0.125f);
  EXPECT_EQ(generation->repetition_penalty, 1.25f);
  EXPECT_EQ(generation->max_new_tokens, 64);
}

TEST(GenerationConfig, WithoutSamplingTheTemperatureIsZero) {
  EXPECT_EQ(parse(R"({"do_sample": false, "temperature": 0.7})")->temperature, 0.0f);
  EXPECT_EQ(parse(R"({"do_sample": null, "temperature": 0.5})")->temperature, 0.5f);
}

TEST(GenerationConfig, DamagedFieldsAreRefused) {
  EXPECT_EQ(message("[]"), "g: is an array, expected an object");
  EXPECT_EQ(message(R"({"temperature": "hot"})"),
            "g: \"temperature\" is \"hot\", expected a number from 0 to 100");
  EXPECT_EQ(message(R"({"temperature": -1})"), "g: \"temperature\" is -1, expected a number from 0 to 100");
  EXPECT_EQ(message(R"({"top_p": 1.5})"), "g: \"top_p\" is 1.5, expected a number from 0 to 1");
  EXPECT_EQ(message(R"({"top_k": 2.5})"), "g: \"top_k\" is 2.5, expected an integer from 0 to 2147483647");
  EXPECT_EQ(message(R"({"do_sample": 1})"), "g: \"do_sample\" is 1, expected true or false");
  EXPECT_EQ(message(R"({"pad_token_id": 100})"),
            "g: \"pad_token_id\" is 100, expected an integer from 0 to 99");
  EXPECT_NE(message(R"({"eos_token_id": [[1]]})"), "");
  EXPECT_NE(message(R"({"repetition_penalty": 0})"), "");
  EXPECT_NE(message(R"({"max_new_tokens": 0})"), "");
}

TEST(GenerationConfig, ADamagedFileIsAnError) {
  const TemporaryDirectory directory;
  directory.write("generation_config.json", "{");
  EXPECT_EQ(load_generation_config(directory.path(), config())
                .error()
                .message.find((directory / "generation_config.json").string() + ": not valid JSON"),
            0u);
}

}  // namespace
}  // namespace indexshare
