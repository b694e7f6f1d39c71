// Answers that are bound to a form, by the bundled model, which has no notion of any.
#include "indexshare/constraint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "base/json.h"
#include "golden/support.h"
#include "indexshare/engine.h"

namespace indexshare {
namespace {

using Kind = Constraint::Kind;

Engine& engine() {
  static Engine engine = [] {
    EngineOptions options;
    options.threads = 2;
    options.chunk = 64;
    return Engine::load(testing::pocket_path(), options).value();
  }();
  return engine;
}

/// Bound by what `by` compiles, which is kept.
GenerationRequest bound(Kind kind, std::string text = {}, uint64_t seed = 1, Engine& by = engine()) {
  GenerationRequest request;
  request.prompt = engine().encode("What is a parrakeet?").value();
  request.sampling.seed = seed;
  request.max_tokens = 500;
  request.grammar = by.compile({.kind = kind, .text = std::move(text), .choices = {}}).value();
  return request;
}

GenerationResult answer(const GenerationRequest& request) {
  auto result = engine().generate(request);
  EXPECT_TRUE(result.ok()) << result.error().message;
  return result.ok() ? std::move(*result) : GenerationResult();
}

constexpr const char* kPerson =
    R"({"type": "object", "properties": {"name": {"type": "string", "maxLength": 12},
        "age": {"type": "integer", "minimum": 1, "maximum": 99}, "tags": {"type": "array", "maxItems": 3,
        "items": {"enum": ["red", "green"]}}}, "required": ["name", "age", "tags"]})";

bool is_person(const std::string& text) {
  const Result<Json> json = parse_json(text, "answer");
  return json.ok() && json->size() == 3 && (*json)["name"].is_string() && (*json)["age"].get<int>() >= 1 &&
         (*json)["age"].get<int>() <= 99 && (*json)["tags"].is_array();
}

TEST(Constraint, AnswersHaveTheFormAtAnyTemperature) {
  for (uint64_t seed = 0; seed < 3; ++seed) {
    GenerationRequest request = bound(Kind::json_schema, kPerson, seed);
    request.sampling.temperature = static_cast<float>(seed) / 2;
    const GenerationResult person = answer(request);
    EXPECT_EQ(person.finish_reason, FinishReason::stop);
    EXPECT_TRUE(is_person(person.text)) << person.text;

    const std::string date = answer(bound(Kind::regex, R"([12]\d{3}-(0[1-9]|1[0-2]))", seed)).text;
    EXPECT_TRUE(std::regex_match(date, std::regex(R"([12]\d{3}-(0[1-9]|1[0-2]))"))) << date;

    const std::string sum =
        answer(bound(Kind::grammar, R"(root ::= [0-9]{1,3} " + " [0-9]{1,3} " = ?")", seed)).text;
    EXPECT_TRUE(std::regex_match(sum, std::regex(R"(\d{1,3} \+ \d{1,3} = \?)"))) << sum;

    const std::vector<std::string> choices = {"a bird", "a fish", "none of \"these\""};
    request.grammar = engine().compile({.kind = Kind::choice, .text = {}, .choices = choices}).value();
    EXPECT_EQ(std::count(choices.begin(), choices.end(), answer(request).text), 1);

    request = bound(Kind::json_object, {}, seed);
    request.max_tokens = 100;
    const GenerationResult object = answer(request);
    if (object.finish_reason == FinishReason::stop) {
      const Result<Json> json = parse_json(object.text, "answer");
      EXPECT_TRUE(json.ok() && json->is_object()) << object.text;
    } else {
      EXPECT_EQ(object.text[0], '{');
    }
  }
}

TEST(Constraint, BeginsWhereTheReasoningEnds) {
  const int32_t end_think = engine().encode("</think>")->at(0);
  GenerationRequest request = bound(Kind::json_schema, kPerson);
  request.prompt = engine().encode("What is a parrakeet?<think>").value();
  request.max_reasoning_tokens = 6;
  request.sampling.logit_bias = {{end_think, -100.0f}};
  for (const int32_t id : engine().info().stop_ids) request.sampling.logit_bias.emplace_back(id, 30.0f);
  for (const bool whole_text : {false, true}) {
    request.whole_text = whole_text;
    const GenerationResult result = answer(request);
    EXPECT_EQ(result.reasoning_tokens, 6);  // no stop token in it, however probable
    EXPECT_EQ(result.ids[6], end_think);
    EXPECT_EQ(std::count(result.ids.begin(), result.ids.end(), end_think), 1);
    const std::string text = whole_text ? result.text.substr(result.text.find("</think>") + 8) : result.text;
    EXPECT_TRUE(is_person(text)) << text;
  }
}

TEST(Constraint, EndsWhereNothingMayFollowAndNotBefore) {
  GenerationRequest request = bound(Kind::regex, "[a-f]{5}");
  request.ignore_eos = true;
  request.sampling.min_tokens = 50;
  GenerationResult result = answer(request);
  EXPECT_EQ(result.text.size(), 5u);
  EXPECT_EQ(result.finish_reason, FinishReason::stop);
  // A stop token comes where the text may end: here after any character but the first.
  request = bound(Kind::regex, "[a-f]+");
  for (const int32_t id : engine().info().stop_ids) request.sampling.logit_bias.emplace_back(id, 100.0f);
  result = answer(request);
  EXPECT_FALSE(result.text.empty());
  EXPECT_EQ(result.ids.size(), 2u);
  EXPECT_EQ(result.finish_reason, FinishReason::stop);
  request.sampling.min_tokens = 9;
  EXPECT_EQ(answer(request).ids.size(), 10u);
  request.max_tokens = 9;
  EXPECT_EQ(answer(request).finish_reason, FinishReason::length);
}

TEST(Constraint, LogprobsAreTheModelsOwn) {
  GenerationRequest request = bound(Kind::regex, "[0-9]{3}");
  request.sampling.logprobs = 1;
  const GenerationResult result = answer(request);
  ASSERT_EQ(result.logprobs.size(), result.ids.size());
  EXPECT_GT(result.logprobs[0].rank, 1);
  EXPECT_LT(result.logprobs[0].logprob, result.logprobs[0].top[0].logprob);
}

/// Of all kinds, some that reason first, beside free ones.
std::vector<GenerationRequest> mixed_requests(Engine& by) {
  std::vector<GenerationRequest> requests;
  for (uint64_t i = 0; i < 10; ++i) {
    GenerationRequest request = i % 5 == 0   ? bound(Kind::json_schema, kPerson, i, by)
                                : i % 5 == 1 ? bound(Kind::regex, "([a-z ]{3,9}, ){9,40}", i, by)
                                             : bound(Kind::json_object, {}, i, by);
    if (i % 5 == 3) request.grammar.reset();
    if (i % 5 == 4) {
      request.prompt = engine().encode("What is a bird?<think>").value();
      request.max_reasoning_tokens = 20;
    }
    request.max_tokens = 100;
    requests.push_back(std::move(request));
  }
  return requests;
}

TEST(Constraint, SaysTogetherAndAfterPreemptionWhatItSaysAlone) {
  const std::vector<GenerationRequest> requests = mixed_requests(engine());
  EngineOptions options;
  options.threads = 1;
  options.context = 1024;
  options.cache_bytes = 5 * engine().statistics().page_bytes;
  auto tight = Engine::load(testing::pocket_path(), options);
  ASSERT_TRUE(tight.ok()) << tight.error().message;
  std::vector<Stream> streams;
  for (const GenerationRequest& request : mixed_requests(*tight)) {
    streams.push_back(tight->stream(request).value());
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto result = streams[i].result();
    ASSERT_TRUE(result.ok()) << result.error().message;
    const GenerationResult alone = answer(requests[i]);
    EXPECT_EQ(result->ids, alone.ids) << i;
    EXPECT_EQ(result->text, alone.text) << i;
  }
  EXPECT_GT(tight->statistics().preempted, 0);
}

TEST(Constraint, WhatCannotBindAnAnswerIsRefused) {
  const auto refused = engine().compile({.kind = Kind::regex, .text = "(", .choices = {}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message.find("regex was not understood: "), 0u) << refused.error().message;
  EngineOptions options;
  options.threads = 1;
  auto silent = Engine::load(testing::golden_path("tiny-5.2"), options);
  ASSERT_TRUE(silent.ok()) << silent.error().message;
  EXPECT_EQ(silent->compile({}).error().message, "json_object needs a tokenizer, and this model has none");
  GenerationRequest request;
  request.prompt = {1};
  request.grammar = engine().compile({}).value();
  EXPECT_EQ(silent->generate(request).error().message,
            "grammar was made by another engine, expected one by compile() of this one");
}

TEST(Constraint, AFormThatTakesTooMuchWorkToFollowFailsAlone) {
  GenerationRequest request = bound(Kind::grammar, "root ::= s \"c\"\ns ::= s s s | s s | [a-b]");
  for (int32_t id = 0; id < engine().info().vocab_size; ++id) {  // it never ends
    if (engine().token_bytes(id)->find('c') != std::string::npos)
      request.sampling.logit_bias.emplace_back(id, -100.0f);
  }
  request.max_tokens = 800;
  Stream heavy = engine().stream(request).value();
  request = bound(Kind::regex, "[a-z]{200}");
  EXPECT_EQ(answer(request).text.size(), 200u);
  const auto result = heavy.result();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message.find("the answer's form, grammar, cannot be followed beyond position "),
            0u)
      << result.error().message;
}

TEST(Constraint, AFormThatTheRequestMakesImpossibleFails) {
  GenerationRequest request = bound(Kind::regex, "[0-9]+");
  request.sampling.min_tokens = 5;  // so that no stop token may come yet, of which these are all
  for (int32_t id = 0; id < engine().info().vocab_size; ++id) {
    const std::string bytes = engine().token_bytes(id).value();
    if (!bytes.empty() && bytes.find_first_not_of("0123456789") == std::string::npos)
      request.stop_ids.push_back(id);
  }
  const auto result = engine().generate(request);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message.find("no token is left for position "), 0u) << result.error().message;
}

}  // namespace
}  // namespace indexshare
