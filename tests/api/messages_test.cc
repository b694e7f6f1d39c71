#include "api/messages.h"

#include "api/support.h"

namespace indexshare::api {
namespace {

Result<ChatInput> read(const Json& body) {
  return read_messages(body);
}

Result<ChatInput> read_with_header(const Json& body) {
  return read_messages(body, {.drop_billing_header = false});
}

std::string messages(std::string_view list) {
  return messages_of(read, R"({"messages": )" + std::string(list) + "}");
}

TEST(Messages, SystemIsATextOrBlocks) {
  EXPECT_EQ(messages_of(read, R"({"system":"s","messages":[{"role":"user","content":"u"}]})"),
            R"([{"role":"system","content":"s"},{"role":"user","content":"u"}])");
  EXPECT_EQ(messages_of(read, R"({"system":[{"type":"text","text":"a"},{"type":"text","text":"\nb"}],
                                  "messages":[{"role":"user","content":"u"}]})"),
            R"([{"role":"system","content":"a\nb"},{"role":"user","content":"u"}])");
}

TEST(Messages, TheBillingHeaderIsLeftOut) {
  const std::string_view request =
      R"({"system":[{"type":"text","text":"x-anthropic-billing-header: cch=1f3;"},{"type":"text","text":"s"}],
          "messages":[{"role":"user","content":"u"}]})";
  EXPECT_EQ(messages_of(read, request), R"([{"role":"system","content":"s"},{"role":"user","content":"u"}])");
  EXPECT_EQ(
      messages_of(read_with_header, request),
      R"([{"role":"system","content":"x-anthropic-billing-header: cch=1f3;s"},{"role":"user","content":"u"}])");
  EXPECT_EQ(messages_of(read, R"({"system":[{"type":"text","text":"x-anthropic-billing-header: cch=1f3;"}],
                                  "messages":[{"role":"user","content":"u"}]})"),
            R"([{"role":"user","content":"u"}])");
}

TEST(Messages, BlocksOfTheAssistant) {
  EXPECT_EQ(messages(R"([{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},
               {"type":"redacted_thinking","data":"?"},{"type":"text","text":"a"},
               {"type":"tool_use","id":"1","name":"f","input":{"x":1}},{"type":"tool_use","id":"2","name":"g"}]}])"),
            R"([{"role":"assistant","content":"a","reasoning_content":"t","tool_calls":[)"
            R"({"id":"1","type":"function","function":{"name":"f","arguments":{"x":1}}},)"
            R"({"id":"2","type":"function","function":{"name":"g","arguments":{}}}]}])");
}

TEST(Messages, BlocksInAnotherOrderAreMessagesOfTheirOwn) {
  EXPECT_EQ(
      messages(R"([{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}},
               {"type":"text","text":"a"},{"type":"thinking","thinking":"t"},{"type":"text","text":"b"}]}])"),
      R"([{"role":"assistant","content":"","tool_calls":[)"
      R"({"id":"1","type":"function","function":{"name":"f","arguments":{}}}]},)"
      R"({"role":"assistant","content":"a"},{"role":"assistant","content":"b","reasoning_content":"t"}])");
}

TEST(Messages, ResultsOfToolsAreMessages) {
  EXPECT_EQ(
      messages(R"([{"role":"user","content":[
               {"type":"tool_result","tool_use_id":"1","content":"r"},
               {"type":"tool_result","tool_use_id":"2","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
               {"type":"tool_result","tool_use_id":"3","is_error":true},
               {"type":"tool_result","tool_use_id":"4","content":[{"type":"tool_reference","tool_name":"f"}]},
               {"type":"text","text":"c"},{"type":"text","text":"d"}]}])"),
      R"([{"role":"tool","content":"r","tool_call_id":"1"},{"role":"tool","content":"ab","tool_call_id":"2"},)"
      R"({"role":"tool","content":"","tool_call_id":"3"},)"
      R"({"role":"tool","content":[{"type":"tool_reference","name":"f"}],"tool_call_id":"4"},)"
      R"({"role":"user","content":"cd"}])");
}

TEST(Messages, TheAnswerGoesOnWithALastMessageOfTheAssistant) {
  const auto input =
      read(*parse_json(R"({"thinking":{"type":"enabled"},"messages":[{"role":"user","content":"u"},
                           {"role":"assistant","content":"It is"}]})",
                       "test"));
  ASSERT_TRUE(input.ok());
  EXPECT_EQ(input->variables["add_generation_prompt"], false);
  EXPECT_FALSE(input->thinking);
}

TEST(Messages, ErrorsNameTheField) {
  EXPECT_EQ(messages("[]"), "messages is empty, expected a message or more");
  EXPECT_EQ(messages("1"), "messages is an integer, expected an array");
  EXPECT_EQ(messages(R"([{"role":"tool","content":"a"}])"),
            "messages[0].role is \"tool\", expected user, assistant or system");
  EXPECT_EQ(messages(R"([{"role":"user","content":[{"type":"image","source":{}}]}])"),
            "messages[0].content[0].type: \"image\" cannot be read, the model reads text alone");
  EXPECT_EQ(messages(R"([{"role":"user","content":[{"type":"tool_result","content":[{"type":"image"}]}]}])"),
            "messages[0].content[0].content[0].type: \"image\" cannot be read, the model reads text alone");
  EXPECT_EQ(messages(R"([{"role":"assistant","content":[{"type":"thinking"}]}])"),
            "messages[0].content[0].thinking is missing, expected a string");
  EXPECT_EQ(
      messages(R"([{"role":"assistant","content":[{"type":"tool_use","name":"f","input":[]}]}])"),
      "messages[0].content[0].input is an array, expected an object, or a string of JSON that holds one");
  EXPECT_EQ(messages_of(read, R"({"system":[1],"messages":[{"role":"user","content":"u"}]})"),
            "system[0] is an integer, expected a string or an object");
}

TEST(Messages, GlmsTemplate) {
  const std::string_view request =
      R"({"max_tokens": 10, "thinking": {"type": "enabled", "budget_tokens": 1024},
    "system": [{"type": "text", "text": "x-anthropic-billing-header: cch=1;"}, {"type": "text", "text": "Be brief."}],
    "tools": [{"name": "add", "description": "adds", "input_schema": {"type": "object"},
               "cache_control": {"type": "ephemeral"}}],
    "messages": [{"role": "user", "content": "What is 1 + 2?"},
      {"role": "assistant", "content": [{"type": "thinking", "thinking": "I add.", "signature": ""},
        {"type": "tool_use", "id": "1", "name": "add", "input": {"a": 1}}]},
      {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "3"}]}]})";
  const auto prompt = prompt_of(read, request);
  if (!prompt) GTEST_SKIP() << "no ../shared/templates";
  const std::string_view tool =
      R"(<tools>
{"name": "add", "description": "adds", "parameters": {"type": "object"}}
</tools>)";
  EXPECT_NE(prompt->find(tool), std::string::npos) << *prompt;
  EXPECT_TRUE(prompt->ends_with(
      "<|system|>Be brief.<|user|>What is 1 + 2?<|assistant|><think>I add.</think><tool_call>add<arg_key>a"
      "</arg_key><arg_value>1</arg_value></tool_call><|observation|><tool_response>3</"
      "tool_response><|assistant|>"
      "<think>"))
      << *prompt;
  EXPECT_EQ(
      *prompt_of(read,
                 R"({"messages":[{"role":"user","content":"u"},{"role":"assistant","content":"It is"}]})"),
      "[gMASK]<sop><|user|>u<|assistant|><think></think>It is");
}

}  // namespace
}  // namespace indexshare::api
