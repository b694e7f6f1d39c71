#include "api/chat_completions.h"

#include "api/support.h"

namespace indexshare::api {
namespace {

std::string messages(std::string_view list) {
  return messages_of(read_chat_completions, R"({"messages": )" + std::string(list) + "}");
}

TEST(ChatCompletions, MessagesInAnyOrder) {
  EXPECT_EQ(
      messages(R"([{"role":"assistant","content":"a"},{"role":"tool","content":"t","tool_call_id":"1"},
                         {"role":"developer","content":"d"},{"role":"system","content":"s"},
                         {"role":"user","content":"u","name":"x","unknown":[1]}])"),
      R"([{"role":"assistant","content":"a"},{"role":"tool","content":"t","tool_call_id":"1"},)"
      R"({"role":"system","content":"d"},{"role":"system","content":"s"},{"role":"user","content":"u"}])");
}

TEST(ChatCompletions, ContentIsOneText) {
  EXPECT_EQ(messages(R"([{"role":"user","content":null},{"role":"user"},{"role":"assistant","content":null},
                         {"role":"user","content":["a",{"type":"text","text":"b"}]},{"role":"user","content":[]}])"),
            R"([{"role":"user","content":""},{"role":"user","content":""},{"role":"assistant","content":""},)"
            R"({"role":"user","content":"ab"},{"role":"user","content":""}])");
}

TEST(ChatCompletions, ReasoningByBothNames) {
  EXPECT_EQ(
      messages(R"([{"role":"assistant","content":"a","reasoning":"r"},
                         {"role":"assistant","reasoning_content":"c","reasoning":"r"},
                         {"role":"assistant","content":"a","reasoning_content":null}])"),
      R"([{"role":"assistant","content":"a","reasoning_content":"r"},)"
      R"({"role":"assistant","content":"","reasoning_content":"c"},{"role":"assistant","content":"a"}])");
}

TEST(ChatCompletions, ArgumentsAreObjects) {
  EXPECT_EQ(messages(R"([{"role":"assistant","content":null,"tool_calls":[
               {"id":"1","type":"function","function":{"name":"f","arguments":"{\"b\": 1, \"a\": null}"}},
               {"id":"2","function":{"name":"g","arguments":" "}},{"name":"h","arguments":{"x":1}},
               {"function":{"name":"i"}}]}])"),
            R"([{"role":"assistant","content":"","tool_calls":[)"
            R"({"id":"1","type":"function","function":{"name":"f","arguments":{"b":1,"a":null}}},)"
            R"({"id":"2","type":"function","function":{"name":"g","arguments":{}}},)"
            R"({"type":"function","function":{"name":"h","arguments":{"x":1}}},)"
            R"({"type":"function","function":{"name":"i","arguments":{}}}]}])");
}

TEST(ChatCompletions, ToolReferencesStay) {
  EXPECT_EQ(
      messages(R"([{"role":"tool","content":[{"type":"tool_reference","tool_name":"f"},
                                                   {"type":"tool_reference","name":"g"}]}])"),
      R"([{"role":"tool","content":[{"type":"tool_reference","name":"f"},{"type":"tool_reference","name":"g"}]}])");
  EXPECT_EQ(messages(R"([{"role":"tool","content":[{"type":"tool_reference","name":"g"},"a"]}])"),
            "messages[0].content[1] is \"a\", expected a tool_reference like the first part");
}

TEST(ChatCompletions, ErrorsNameTheField) {
  EXPECT_EQ(messages_of(read_chat_completions, "[]"), "body is an array, expected an object");
  EXPECT_EQ(messages_of(read_chat_completions, "{}"), "messages is missing, expected an array");
  EXPECT_EQ(messages("null"), "messages is missing, expected an array");
  EXPECT_EQ(messages("{}"), "messages is an object, expected an array");
  EXPECT_EQ(messages("[]"), "messages is empty, expected a message or more");
  EXPECT_EQ(messages("[1]"), "messages[0] is an integer, expected an object");
  EXPECT_EQ(messages("[{}]"), "messages[0].role is missing, expected a string");
  EXPECT_EQ(messages(R"([{"role":"robot"}])"),
            "messages[0].role is \"robot\", expected system, developer, user, assistant or tool");
  EXPECT_EQ(messages(R"([{"role":"user","content":1}])"),
            "messages[0].content is an integer, expected a string or an array of parts");
  EXPECT_EQ(
      messages(
          R"([{"role":"user","content":"a"},{"role":"user","content":["b",{"type":"text","text":[]}]}])"),
      "messages[1].content[1].text is an array, expected a string");
  EXPECT_EQ(messages(R"([{"role":"user","content":[{"text":"a"}]}])"),
            "messages[0].content[0].type is missing, expected a string");
  EXPECT_EQ(messages(R"([{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}])"),
            "messages[0].content[0].type: \"image_url\" cannot be read, the model reads text alone");
  EXPECT_EQ(messages(R"([{"role":"assistant","reasoning":[]}])"),
            "messages[0].reasoning is an array, expected a string");
  EXPECT_EQ(messages(R"([{"role":"assistant","tool_calls":{}}])"),
            "messages[0].tool_calls is an object, expected an array");
  EXPECT_EQ(messages(R"([{"role":"assistant","tool_calls":[{"function":{}}]}])"),
            "messages[0].tool_calls[0].function.name is missing, expected a string");
  EXPECT_EQ(messages(R"([{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"[1]"}}]}])"),
            "messages[0].tool_calls[0].function.arguments holds an array, expected an object");
  EXPECT_TRUE(messages(R"([{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{"}}]}])")
                  .starts_with("messages[0].tool_calls[0].function.arguments: not valid JSON"));
}

TEST(ChatCompletions, GlmsTemplate) {
  const std::string_view request = R"({"reasoning_effort": "low", "messages": [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "What is 1 + 2?"}]},
    {"role": "assistant", "content": null, "reasoning": "I add.", "tool_calls": [
      {"id": "1", "type": "function", "function": {"name": "add", "arguments": "{\"a\": 1, \"b\": \"2\"}"}}]},
    {"role": "tool", "tool_call_id": "1", "content": [{"type": "text", "text": "3"}]}]})";
  const auto prompt = prompt_of(read_chat_completions, request);
  if (!prompt) GTEST_SKIP() << "no ../shared/templates";
  EXPECT_EQ(
      *prompt,
      "[gMASK]<sop><|system|>Reasoning Effort: High<|system|>Be brief.<|user|>What is 1 + 2?<|assistant|>"
      "<think>I add.</think><tool_call>add<arg_key>a</arg_key><arg_value>1</arg_value><arg_key>b</arg_key>"
      "<arg_value>2</arg_value></tool_call><|observation|><tool_response>3</"
      "tool_response><|assistant|><think>");
}

}  // namespace
}  // namespace indexshare::api
