// Tools in the forms of different clients, and the types of their arguments.
#include "text/tool_schemas.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace indexshare {
namespace {

std::string openai(std::string_view tools) {
  const Result<Json> result = openai_tools(*parse_json(tools, "test"));
  return result ? dump_json(*result) : result.error().message;
}

// The types of the argument "a" of a tool with these parameters.
JsonTypes types(std::string_view parameters) {
  const Json tools = Json::array({{{"name", "f"}, {"input_schema", *parse_json(parameters, "test")}}});
  return ToolSchemas(*openai_tools(tools)).types("f", "a");
}

JsonTypes types_of_schema(std::string_view schema) {
  return types(R"({"properties": {"a": )" + std::string(schema) + "}}");
}

TEST(ToolSchemas, AllFormsBecomeThatOfOpenAi) {
  const std::string_view expected =
      R"([{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}}])";
  EXPECT_EQ(openai(expected), expected);
  EXPECT_EQ(openai(R"([{"type":"function","name":"f","description":"d","parameters":{"type":"object"}}])"),
            expected);
  EXPECT_EQ(openai(R"([{"name":"f","description":"d","input_schema":{"type":"object"},
                        "cache_control":{"type":"ephemeral"}}])"),
            expected);
  EXPECT_EQ(openai(R"([{"type":"custom","input_schema":{"type":"object"},"description":"d","name":"f"}])"),
            expected);
  EXPECT_EQ(openai("[]"), "[]");
}

TEST(ToolSchemas, WhatTheTemplateReadsIsKept) {
  EXPECT_EQ(openai(R"([{"name":"f","input_schema":{},"defer_loading":true}])"),
            R"([{"type":"function","function":{"name":"f","defer_loading":true,"parameters":{}}}])");
}

TEST(ToolSchemas, ErrorsNameTheTool) {
  EXPECT_EQ(openai("{}"), "tools is an object, expected an array");
  EXPECT_EQ(openai("[1]"), "tools[0] is an integer, expected an object");
  EXPECT_EQ(openai(R"([{"type":"function","function":[]}])"),
            "tools[0].function is an array, expected an object");
  EXPECT_EQ(openai("[{}]"), "tools[0] lacks the field \"name\"");
  EXPECT_EQ(openai(R"([{"name":1}])"), "tools[0].name is an integer, expected a string");
  EXPECT_EQ(openai(R"([{"name":"a b"}])"),
            "tools[0].name: \"a b\" must be 1 to 256 letters, digits or any of \"_-.:/\"");
  EXPECT_EQ(openai(R"([{"name":"f"},{"name":"f"}])"), "tools[1].name: \"f\" is also the name of tools[0]");
  EXPECT_EQ(openai(R"([{"name":"f","description":1}])"),
            "tools[0].description is an integer, expected a string");
  EXPECT_EQ(openai(R"([{"name":"f","input_schema":[]}])"),
            "tools[0].parameters is an array, expected an object");
  EXPECT_EQ(openai(R"([{"type":"web_search"}])"),
            "tools[0].type: \"web_search\" is not a tool that is described by its schema");
  EXPECT_EQ(openai(R"([{"type":"custom","name":"f"}])"),
            "tools[0] is a \"custom\" tool without an \"input_schema\"");
}

TEST(ToolSchemas, TypesOfASchema) {
  EXPECT_EQ(types_of_schema(R"({"type": "string"})"), kStringType);
  EXPECT_EQ(types_of_schema(R"({"type": "number"})"), kNumberType | kIntegerType);
  EXPECT_EQ(types_of_schema(R"({"type": ["string", "null"]})"), kStringType | kNullType);
  EXPECT_EQ(types_of_schema(R"({"type": "string", "nullable": true})"), kStringType | kNullType);
  EXPECT_EQ(types_of_schema(R"({"enum": ["a", "b"]})"), kStringType);
  EXPECT_EQ(types_of_schema(R"({"const": true})"), kBooleanType);
  EXPECT_EQ(types_of_schema(R"({"const": null})"), kNullType);
  EXPECT_EQ(types_of_schema(R"({"properties": {}})"), kObjectType);
  EXPECT_EQ(types_of_schema(R"({"items": {}})"), kArrayType);
  EXPECT_EQ(types_of_schema(R"({"anyOf": [{"type": "string"}, {"type": "integer"}]})"),
            kStringType | kIntegerType);
  EXPECT_EQ(types_of_schema(R"({"oneOf": [{"type": "array"}], "allOf": [{"type": "object"}]})"),
            kArrayType | kObjectType);
}

TEST(ToolSchemas, AnyTypeWhereTheSchemaDoesNotSay) {
  for (const char* schema :
       {"{}", "true", "null", "[]", "1", R"({"type": "date"})", R"({"type": 1})", R"({"enum": []})",
        R"({"$ref": "https://example.com"})", R"({"$ref": "#/$defs/none"})"}) {
    EXPECT_EQ(types_of_schema(schema), kAnyType) << schema;
  }
  EXPECT_EQ(types("{}"), kAnyType);
  EXPECT_EQ(types(R"({"properties": []})"), kAnyType);
  EXPECT_EQ(ToolSchemas().types("f", "a"), kAnyType);
}

TEST(ToolSchemas, AdditionalProperties) {
  EXPECT_EQ(types(R"({"properties": {"b": {}}, "additionalProperties": {"type": "string"}})"), kStringType);
  EXPECT_EQ(types(R"({"additionalProperties": false})"), kAnyType);
}

TEST(ToolSchemas, References) {
  EXPECT_EQ(types(R"({"properties": {"a": {"$ref": "#/$defs/T"}}, "$defs": {"T": {"type": "string"}}})"),
            kStringType);
  EXPECT_EQ(types(R"({"properties": {"a": {"allOf": [{"$ref": "#/$defs/T"}], "default": 1}},
                      "$defs": {"T": {"enum": [1]}}})"),
            kIntegerType);
  EXPECT_EQ(types(R"({"properties": {"a": {"$ref": "#/properties/a"}}})"), kAnyType);
}

// Each name stands for two of the next: 2^60 ways.
TEST(ToolSchemas, ReferencesThatMultiplyAreBounded) {
  Json parameters = {{"properties", {{"a", {{"$ref", "#/$defs/0"}}}}}, {"$defs", Json::object()}};
  for (int i = 0; i < 60; ++i) {
    const Json next = {{"$ref", "#/$defs/" + std::to_string(i + 1)}};
    parameters["$defs"][std::to_string(i)] = {{"anyOf", {next, next}}};
  }
  EXPECT_EQ(types(dump_json(parameters)), kAnyType);
}

}  // namespace
}  // namespace indexshare
