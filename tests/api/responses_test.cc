#include "api/responses.h"

#include "api/support.h"

namespace indexshare::api {
namespace {

std::string messages(std::string_view input) {
  return messages_of(read_responses, R"({"input": )" + std::string(input) + "}");
}

TEST(Responses, InputIsATextOrItems) {
  EXPECT_EQ(messages(R"("u")"), R"([{"role":"user","content":"u"}])");
  EXPECT_EQ(
      messages_of(read_responses, R"({"instructions":"i","input":[
                {"role":"developer","content":"d"},
                {"type":"message","role":"user","content":[{"type":"input_text","text":"u"}]},
                {"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}]})"),
      R"([{"role":"system","content":"i"},{"role":"system","content":"d"},{"role":"user","content":"u"},)"
      R"({"role":"assistant","content":"a"}])");
}

TEST(Responses, ItemsOfOneTurnAreOneMessage) {
  EXPECT_EQ(
      messages(R"([{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"r"}]},
                {"type":"message","role":"assistant","content":"a"},
                {"type":"function_call","call_id":"1","name":"f","arguments":"{\"x\":1}"},
                {"type":"function_call","call_id":"2","name":"g","arguments":""},
                {"type":"function_call_output","call_id":"1","output":"o"},
                {"type":"function_call_output","call_id":"2","output":[{"type":"input_text","text":"p"}]},
                {"type":"reasoning","summary":[{"type":"summary_text","text":"s"}]},
                {"type":"function_call","call_id":"3","name":"f","arguments":"{}"},
                {"type":"reasoning","encrypted_content":"?"}])"),
      R"([{"role":"assistant","content":"a","reasoning_content":"r","tool_calls":[)"
      R"({"id":"1","type":"function","function":{"name":"f","arguments":{"x":1}}},)"
      R"({"id":"2","type":"function","function":{"name":"g","arguments":{}}}]},)"
      R"({"role":"tool","content":"o","tool_call_id":"1"},{"role":"tool","content":"p","tool_call_id":"2"},)"
      R"({"role":"assistant","content":"","reasoning_content":"s","tool_calls":[)"
      R"({"id":"3","type":"function","function":{"name":"f","arguments":{}}}]}])");
}

TEST(Responses, ErrorsNameTheField) {
  EXPECT_EQ(messages_of(read_responses, "{}"), "input is missing, expected a string or an array");
  EXPECT_EQ(messages("{}"), "input is an object, expected a string or an array");
  EXPECT_EQ(messages("[]"), "input is empty, expected an item or more");
  EXPECT_EQ(messages("[1]"), "input[0] is an integer, expected an object");
  EXPECT_EQ(messages(R"([{"type":"item_reference","id":"1"}])"),
            "input[0].type is \"item_reference\", expected message, reasoning, function_call or "
            "function_call_output");
  EXPECT_EQ(messages(R"([{"role":"tool","content":""}])"),
            "input[0].role is \"tool\", expected system, developer, user or assistant");
  EXPECT_EQ(messages(R"([{"role":"user","content":[{"type":"input_image"}]}])"),
            "input[0].content[0].type: \"input_image\" cannot be read, the model reads text alone");
  EXPECT_EQ(messages(R"([{"type":"function_call","arguments":"{}"}])"),
            "input[0].name is missing, expected a string");
  EXPECT_EQ(messages_of(read_responses, R"({"instructions":[],"input":"u"})"),
            "instructions is an array, expected a string");
}

}  // namespace
}  // namespace indexshare::api
