#include "base/json.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>

namespace indexshare {
namespace {

TEST(Json, KeepsTheOrderOfKeys) {
  const auto json = parse_json(R"({"b": 1, "a": [1.5, null]})", "t");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(dump_json(*json), R"({"b":1,"a":[1.5,null]})");
}

TEST(Json, RefusesDuplicateKeysByName) {
  const auto json = parse_json(R"({"a": {"x": 1, "x": 2}})", "file.json");
  ASSERT_FALSE(json.ok());
  EXPECT_EQ(json.error().message, "file.json: the key \"x\" stands twice in one object");
  EXPECT_FALSE(parse_sorted_json(R"({"a": {"x": 1, "x": 2}})", "t").ok());
  EXPECT_TRUE(parse_json(R"([{"x": 1}, {"x": 2}])", "t").ok());
}

TEST(Json, RefusesDeepNesting) {
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  EXPECT_FALSE(parse_json(deep, "t").ok());
  const std::string fine = std::string(kMaxJsonDepth, '[') + std::string(kMaxJsonDepth, ']');
  EXPECT_TRUE(parse_json(fine, "t").ok());
  EXPECT_FALSE(parse_json("[" + fine + "]", "t").ok());
}

TEST(Json, RefusesMoreValuesThanMemoryIsFor) {
  const auto list_of = [](int values) {
    std::string text = "[0";
    for (int i = 2; i < values; ++i) text += ",0";
    return text + "]";
  };
  constexpr int kMost = 1 << 22;
  EXPECT_TRUE(parse_json(list_of(kMost), "t").ok());
  const auto json = parse_json(list_of(kMost + 1), "t");
  ASSERT_FALSE(json.ok());
  EXPECT_EQ(json.error().message, "t: more than 4194304 values");
}

TEST(Json, NamesTheSourceOfASyntaxError) {
  const auto json = parse_sorted_json("{\"a\": }", "config.json");
  ASSERT_FALSE(json.ok());
  EXPECT_EQ(json.error().message.find("config.json: not valid JSON"), 0u);
  EXPECT_FALSE(parse_json("\"\xff\"", "t").ok());
  EXPECT_FALSE(parse_json("1 2", "t").ok());
}

TEST(Json, RefusesAZeroByte) {
  using namespace std::string_view_literals;
  EXPECT_TRUE(parse_json("12", "t").ok());
  EXPECT_FALSE(parse_json("12\0"sv, "t").ok());
  EXPECT_FALSE(parse_json("12\0 and more"sv, "t").ok());
}

TEST(Json, BuildsEveryKindOfValue) {
  const std::string text = R"([{"a":[],"b":{},"c":[1,-2,0.5,"x",true,false,null]},[[{"d":1},2]],""])";
  const auto ordered = parse_json(text, "t");
  const auto sorted = parse_sorted_json(text, "t");
  ASSERT_TRUE(ordered.ok() && sorted.ok());
  EXPECT_EQ(dump_json(*ordered), text);
  EXPECT_EQ(sorted->dump(), text);
  EXPECT_TRUE((*sorted)[0]["c"][0].is_number_unsigned());
  EXPECT_FALSE((*sorted)[0]["c"][1].is_number_unsigned());
}

// The library's filtering parser needs a minute for this; ours a fraction of a second.
TEST(Json, TakesTimeLinearInTheNumberOfMembers) {
  std::string text = "{";
  for (int i = 0; i < 60000; ++i) text += (i > 0 ? ",\"" : "\"") + std::to_string(i) + R"(":{"x":[1]})";
  text += "}";
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(parse_json(text, "t").ok());
  EXPECT_TRUE(parse_sorted_json(text, "t").ok());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

}  // namespace
}  // namespace indexshare
