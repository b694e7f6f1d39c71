#include "base/json.h"

#include <gtest/gtest.h>

#include <string>

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
  EXPECT_TRUE(parse_json(R"([{"x": 1}, {"x": 2}])", "t").ok());
}

TEST(Json, RefusesDeepNesting) {
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  EXPECT_FALSE(parse_json(deep, "t").ok());
  const std::string fine = std::string(kMaxJsonDepth, '[') + std::string(kMaxJsonDepth, ']');
  EXPECT_TRUE(parse_json(fine, "t").ok());
}

TEST(Json, NamesTheSourceOfASyntaxError) {
  const auto json = parse_sorted_json("{\"a\": }", "config.json");
  ASSERT_FALSE(json.ok());
  EXPECT_EQ(json.error().message.find("config.json: not valid JSON"), 0u);
  EXPECT_FALSE(parse_json("\"\xff\"", "t").ok());
  EXPECT_FALSE(parse_json("1 2", "t").ok());
}

}  // namespace
}  // namespace indexshare
