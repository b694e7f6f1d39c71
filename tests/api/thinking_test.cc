#include "api/thinking.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "api/chat_completions.h"
#include "api/support.h"

namespace indexshare::api {
namespace {

// The template's variables, and in front "on" or "off"; or why the request is refused.
std::string thinking(std::string_view body, bool on_by_default = true) {
  const Json json = *parse_json(body, "test");
  ChatInput input;
  const Result<void> result = read_thinking(RequestValue(json), on_by_default, input);
  if (!result.ok()) return result.error().message;
  EXPECT_EQ(input.variables["enable_thinking"], input.thinking);
  input.variables.erase("enable_thinking");
  return (input.thinking ? "on " : "off ") + dump_json(input.variables);
}

TEST(Thinking, Default) {
  EXPECT_EQ(thinking("{}"), "on {}");
  EXPECT_EQ(thinking("{}", false), "off {}");
}

TEST(Thinking, Effort) {
  for (const char* effort : {"max", "xhigh"}) {
    EXPECT_EQ(thinking(R"({"reasoning_effort":")" + std::string(effort) + "\"}", false),
              R"(on {"reasoning_effort":"max"})");
  }
  for (const char* effort : {"high", "medium", "low"}) {
    EXPECT_EQ(thinking(R"({"reasoning_effort":")" + std::string(effort) + "\"}"),
              R"(on {"reasoning_effort":"high"})");
  }
  for (const char* effort : {"minimal", "none"}) {
    EXPECT_EQ(thinking(R"({"reasoning_effort":")" + std::string(effort) + "\"}"), "off {}");
  }
  EXPECT_EQ(thinking(R"({"reasoning":{"effort":"low"}})"), R"(on {"reasoning_effort":"high"})");
  EXPECT_EQ(thinking(R"({"output_config":{"effort":"max"}})", false), R"(on {"reasoning_effort":"max"})");
  EXPECT_EQ(thinking(R"({"reasoning_effort":null})"), "on {}");
}

TEST(Thinking, Switches) {
  EXPECT_EQ(thinking(R"({"enable_thinking":false})"), "off {}");
  EXPECT_EQ(thinking(R"({"thinking":{"type":"disabled"}})"), "off {}");
  EXPECT_EQ(thinking(R"({"thinking":{"type":"enabled"}})", false), "on {}");
  EXPECT_EQ(thinking(R"({"thinking":{"type":"adaptive"}})", false), "on {}");
  EXPECT_EQ(thinking(R"({"thinking":false})"), "off {}");
  EXPECT_EQ(thinking(R"({"thinking":{"type":"enabled","clear_thinking":false}})"),
            R"(on {"clear_thinking":false})");
  EXPECT_EQ(thinking(R"({"clear_thinking":true})"), R"(on {"clear_thinking":true})");
}

TEST(Thinking, TheStrongerWins) {
  EXPECT_EQ(thinking(R"({"enable_thinking":true,"thinking":{"type":"disabled"}})"), "off {}");
  EXPECT_EQ(thinking(R"({"enable_thinking":true,"reasoning_effort":"none"})"), "on {}");
  EXPECT_EQ(thinking(R"({"enable_thinking":false,"reasoning_effort":"high"})"),
            R"(off {"reasoning_effort":"high"})");
  EXPECT_EQ(thinking(R"({"chat_template_kwargs":{"enable_thinking":false},"enable_thinking":true})"),
            "on {}");
}

TEST(Thinking, VariablesOfTheTemplate) {
  EXPECT_EQ(thinking(R"({"chat_template_kwargs":{"enable_thinking":false,"mood":[1]}})"),
            R"(off {"mood":[1]})");
  EXPECT_EQ(thinking(R"({"chat_template_kwargs":{"reasoning_effort":"low","clear_thinking":false}})"),
            R"(on {"clear_thinking":false,"reasoning_effort":"high"})");
  EXPECT_EQ(thinking(R"({"chat_template_kwargs":{"messages":[]}})"),
            "chat_template_kwargs.messages is given, expected the request's own");
  Json many = {{"chat_template_kwargs", Json::object()}};
  for (int i = 0; i < 65; ++i) many["chat_template_kwargs"]["v" + std::to_string(i)] = i;
  EXPECT_EQ(thinking(dump_json(many)), "chat_template_kwargs has 65 members, expected no more than 64");
}

TEST(Thinking, Budget) {
  const auto budget = [](std::string_view body) {
    return read_chat_completions(*parse_json(body, "test"))->thinking_budget;
  };
  EXPECT_EQ(budget(R"({"thinking":{"type":"enabled","budget_tokens":5},"messages":[{"role":"user"}]})"), 5);
  EXPECT_EQ(budget(R"({"thinking_token_budget":7,"messages":[{"role":"user"}]})"), 7);
  EXPECT_EQ(budget(R"({"thinking_budget":0,"messages":[{"role":"user"}]})"), 0);
  EXPECT_EQ(budget(R"({"messages":[{"role":"user"}]})"), std::nullopt);
}

TEST(Thinking, ErrorsNameTheField) {
  EXPECT_EQ(
      thinking(R"({"reasoning_effort":"little"})"),
      "reasoning_effort is \"little\", expected one of max, xhigh, high, medium, low, minimal and none");
  EXPECT_EQ(
      thinking(R"({"reasoning":{"effort":1}})"),
      "reasoning.effort is an integer, expected one of max, xhigh, high, medium, low, minimal and none");
  EXPECT_EQ(thinking(R"({"thinking":{"type":"on"}})"),
            "thinking.type is \"on\", expected enabled, adaptive or disabled");
  EXPECT_EQ(thinking(R"({"thinking":{}})"),
            "thinking.type is missing, expected enabled, adaptive or disabled");
  EXPECT_EQ(thinking(R"({"thinking":{"type":"enabled","budget_tokens":0}})"),
            "thinking.budget_tokens is an integer, expected an integer from 1 on");
  EXPECT_EQ(thinking(R"({"thinking":{"type":"enabled","budget_tokens":18446744073709551615}})"),
            "thinking.budget_tokens is an integer, expected an integer from 1 on");
  EXPECT_EQ(thinking(R"({"thinking":1})"), "thinking is an integer, expected an object with a \"type\"");
  EXPECT_EQ(thinking(R"({"enable_thinking":"no"})"), "enable_thinking is \"no\", expected true or false");
  EXPECT_EQ(thinking(R"({"chat_template_kwargs":{"enable_thinking":0}})"),
            "chat_template_kwargs.enable_thinking is an integer, expected true or false");
  EXPECT_EQ(thinking(R"({"chat_template_kwargs":[]})"),
            "chat_template_kwargs is an array, expected an object");
}

TEST(Thinking, GlmsTemplates) {
  const auto end = [](std::string_view fields, std::string_view model) {
    const std::string body = R"({"messages":[{"role":"user","content":"u"}],)" + std::string(fields) + "}";
    return prompt_of(read_chat_completions, body, model);
  };
  if (!end(R"("enable_thinking":true)", "glm-5.2")) GTEST_SKIP() << "no ../shared/templates";
  EXPECT_EQ(*end(R"("reasoning_effort":"medium")", "glm-5.2"),
            "[gMASK]<sop><|system|>Reasoning Effort: High<|user|>u<|assistant|><think>");
  EXPECT_EQ(*end(R"("reasoning_effort":"xhigh")", "glm-5.2"),
            "[gMASK]<sop><|system|>Reasoning Effort: Max<|user|>u<|assistant|><think>");
  EXPECT_EQ(*end(R"("reasoning_effort":"none")", "glm-5.2"),
            "[gMASK]<sop><|user|>u<|assistant|><think></think>");
  EXPECT_EQ(*end(R"("thinking":{"type":"disabled"})", "glm-5"), "[gMASK]<sop><|user|>u<|assistant|></think>");
}

}  // namespace
}  // namespace indexshare::api
