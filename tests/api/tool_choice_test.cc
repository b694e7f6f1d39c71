#include "api/tool_choice.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace indexshare::api {
namespace {

constexpr std::string_view kTools = R"("tools":[{"type":"function","function":{"name":"f"}}])";

Result<ChatInput> read(std::string_view fields) {
  const Json json = *parse_json("{" + std::string(fields) + "}", "test");
  ChatInput input;
  RETURN_IF_ERROR(read_tools(RequestValue(json), input));
  return input;
}

Result<ChatInput> read_choice(std::string_view choice) {
  return read(std::string(kTools) + R"(,"tool_choice":)" + std::string(choice));
}

TEST(ToolChoice, AllForms) {
  using Kind = ToolChoice::Kind;
  EXPECT_EQ(read(kTools)->tool_choice.kind, Kind::automatic);
  for (const char* choice : {R"("auto")", R"({"type":"auto"})"}) {
    EXPECT_EQ(read_choice(choice)->tool_choice.kind, Kind::automatic) << choice;
  }
  for (const char* choice : {R"("required")", R"({"type":"any"})"}) {
    EXPECT_EQ(read_choice(choice)->tool_choice.kind, Kind::required) << choice;
  }
  for (const char* choice : {R"({"type":"function","function":{"name":"f"}})",
                             R"({"type":"function","name":"f"})", R"({"type":"tool","name":"f"})"}) {
    const auto input = read_choice(choice);
    ASSERT_TRUE(input.ok()) << input.error().message;
    EXPECT_EQ(input->tool_choice.kind, Kind::named);
    EXPECT_EQ(input->tool_choice.name, "f");
  }
}

TEST(ToolChoice, ToolsReachTheTemplateAndTheParser) {
  const auto input = read(kTools);
  EXPECT_TRUE(input->tools.contains("f"));
  EXPECT_EQ(dump_json(input->variables["tools"]), R"([{"type":"function","function":{"name":"f"}}])");
  EXPECT_FALSE(read(R"("tools":[])")->variables.contains("tools"));
  EXPECT_FALSE(read(R"("tools":null)")->variables.contains("tools"));
}

TEST(ToolChoice, NoneHidesTheTools) {
  for (const char* choice : {R"("none")", R"({"type":"none"})"}) {
    const auto input = read_choice(choice);
    EXPECT_EQ(input->tool_choice.kind, ToolChoice::Kind::none);
    EXPECT_TRUE(input->tools.empty());
    EXPECT_FALSE(input->variables.contains("tools"));
  }
}

TEST(ToolChoice, OneCallAtMost) {
  EXPECT_TRUE(read(kTools)->parallel_tool_calls);
  EXPECT_FALSE(read(R"("parallel_tool_calls":false)")->parallel_tool_calls);
  EXPECT_FALSE(read_choice(R"({"type":"auto","disable_parallel_tool_use":true})")->parallel_tool_calls);
}

TEST(ToolChoice, ErrorsNameTheField) {
  EXPECT_EQ(read(R"("tools":{})").error().message, "tools is an object, expected an array");
  EXPECT_EQ(read_choice("1").error().message, "tool_choice is an integer, expected a string or an object");
  EXPECT_EQ(read_choice(R"("f")").error().message,
            "tool_choice is \"f\", expected auto, none, required or a named tool");
  EXPECT_EQ(read_choice("{}").error().message, "tool_choice.type is missing, expected a string");
  EXPECT_EQ(read_choice(R"({"type":"allowed_tools"})").error().message,
            "tool_choice.type is \"allowed_tools\", expected auto, none, required or a named tool");
  EXPECT_EQ(read_choice(R"({"type":"tool"})").error().message,
            "tool_choice.name is missing, expected a string");
  EXPECT_EQ(read_choice(R"({"type":"tool","name":"g"})").error().message,
            "tool_choice names \"g\", which is none of the tools");
  EXPECT_EQ(read(R"("tool_choice":"required")").error().message,
            "tool_choice asks for a call, but there are no tools");
  EXPECT_EQ(read(R"("parallel_tool_calls":1)").error().message,
            "parallel_tool_calls is an integer, expected true or false");
}

}  // namespace
}  // namespace indexshare::api
