// Answers in GLM's form, whole and cut into pieces in all ways.
#include "text/answer_parser.h"

#include <gtest/gtest.h>

#include <chrono>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace indexshare {
namespace {

constexpr std::string_view kTools = R"([
  {"name": "write", "input_schema": {"properties": {"path": {"type": "string"}, "text": {"type": "string"}}}},
  {"name": "add", "input_schema": {"properties": {
    "n": {"type": "integer"}, "x": {"type": "number"}, "flag": {"type": "boolean"}, "list": {"type": "array"},
    "map": {"type": "object"}, "none": {"type": "null"}, "note": {"type": ["string", "null"]},
    "choice": {"enum": ["a", 1]}, "any": {}}}},
  {"name": "now"}])";

const ToolSchemas& tools() {
  static const ToolSchemas kSchemas = ToolSchemas(*openai_tools(*parse_json(kTools, "tools")));
  return kSchemas;
}

// The events in one line, those of one kind that follow each other as one.
class Line {
 public:
  void add(const std::vector<AnswerEvent>& events) {
    for (const AnswerEvent& event : events) {
      const bool piece = event.kind == AnswerEvent::Kind::reasoning ||
                         event.kind == AnswerEvent::Kind::content ||
                         event.kind == AnswerEvent::Kind::arguments;
      EXPECT_EQ(event.text.empty(), event.kind == AnswerEvent::Kind::end);
      if (!piece || event.kind != last_) {
        text_ += first_ ? "" : "|";
        text_ += std::vector<std::string>{
            "think ", "say ", "call ", "with ", "end", "broken "}[static_cast<size_t>(event.kind)];
        if (event.call >= 0) text_ += "#" + std::to_string(event.call) + " ";
      }
      text_ += event.text;
      last_ = event.kind;
      first_ = false;
    }
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  AnswerEvent::Kind last_ = AnswerEvent::Kind::end;
  bool first_ = true;
};

std::string read(std::initializer_list<std::string_view> pieces, ReasoningText reasoning,
                 const ToolSchemas& schemas = tools()) {
  AnswerParser parser(schemas, reasoning);
  Line line;
  for (const std::string_view piece : pieces) line.add(parser.push(piece));
  line.add(parser.finish());
  return line.text();
}

// What a text is read as, after it has been cut into two and three pieces in all ways, and into single bytes.
std::string read_every_way(std::string_view text, ReasoningText reasoning = ReasoningText::marked,
                           const ToolSchemas& schemas = tools()) {
  const std::string whole = read({text}, reasoning, schemas);
  for (size_t a = 0; a <= text.size(); ++a) {
    for (size_t b = a; b <= text.size(); ++b) {
      const std::string cut =
          read({text.substr(0, a), text.substr(a, b - a), text.substr(b)}, reasoning, schemas);
      if (cut != whole) {
        ADD_FAILURE() << "cut at " << a << " and " << b << ": " << cut << "\nwhole: " << whole;
        return cut;
      }
    }
  }
  AnswerParser parser(schemas, reasoning);
  Line line;
  for (const char c : text) line.add(parser.push({&c, 1}));
  line.add(parser.finish());
  EXPECT_EQ(line.text(), whole) << "byte by byte";
  return whole;
}

// The arguments of one call of `add` with one argument.
std::string argument(std::string_view key, std::string_view value) {
  const std::string prefix = "call #0 add|with #0 ";
  const std::string line =
      read_every_way("<tool_call>add<arg_key>" + std::string(key) + "</arg_key><arg_value>" +
                     std::string(value) + "</arg_value></tool_call>");
  EXPECT_TRUE(line.starts_with(prefix) && line.ends_with("|end#0 ")) << line;
  const std::string json = line.substr(prefix.size(), line.size() - prefix.size() - 7);
  EXPECT_TRUE(parse_json(json, "arguments").ok()) << json;
  return json;
}

TEST(AnswerParser, TextIsContent) {
  EXPECT_EQ(read_every_way(""), "");
  EXPECT_EQ(read_every_way(" a < b, \n\n<b>bold</b> \xe2\x82\xac \n"),
            "say  a < b, \n\n<b>bold</b> \xe2\x82\xac \n");
}

TEST(AnswerParser, ReasoningComesFirst) {
  EXPECT_EQ(read_every_way("<think>so\n</think>\nyes"), "think so\n|say \nyes");
  EXPECT_EQ(read_every_way(" \n<think>so"), "think so");
  EXPECT_EQ(read_every_way("so</think>yes", ReasoningText::open), "think so|say yes");
  EXPECT_EQ(read_every_way("</think>yes", ReasoningText::open), "say yes");
  EXPECT_EQ(read_every_way("so <think> </thin", ReasoningText::open), "think so <think> </thin");
  EXPECT_EQ(read_every_way("<think></think>yes"), "say yes");
}

TEST(AnswerParser, MarkersElsewhereAreText) {
  EXPECT_EQ(read_every_way("a<think>b</think>"), "say a<think>b</think>");
  EXPECT_EQ(read_every_way(" <thin"), "say  <thin");
  EXPECT_EQ(read_every_way("<think>a</think>", ReasoningText::none), "say <think>a</think>");
  EXPECT_EQ(read_every_way("<think>a</think>b</think>"), "think a|say b</think>");
}

TEST(AnswerParser, ACallInReasoningIsText) {
  EXPECT_EQ(
      read_every_way("<tool_call>now</tool_call></think><tool_call>now</tool_call>", ReasoningText::open),
      "think <tool_call>now</tool_call>|call #0 now|with #0 {}|end#0 ");
}

TEST(AnswerParser, CallsOfOneTurn) {
  EXPECT_EQ(
      read_every_way("I do.\n<tool_call>write<arg_key>path</arg_key><arg_value>a b</arg_value><arg_key>text"
                     "</arg_key><arg_value>\n1\t\"x\\\"\x01</arg_value></tool_call>\n"
                     "<tool_call>now</tool_call> done "),
      "say I do.|call #0 write|with #0 {\"path\":\"a b\",\"text\":\"\\n1\\t\\\"x\\\\\\\"\\u0001\"}|end#0 "
      "|call #1 now|with #1 {}|end#1 |say done ");
}

TEST(AnswerParser, SpaceBetweenTags) {
  EXPECT_EQ(read_every_way(
                "<tool_call> write\n<arg_key>path</arg_key>\n<arg_value> a </arg_value>\n</tool_call>\n"),
            "call #0 write|with #0 {\"path\":\" a \"}|end#0 ");
  EXPECT_EQ(read_every_way("<tool_call>\nnow\n</tool_call>"), "call #0 now|with #0 {}|end#0 ");
}

TEST(AnswerParser, TheNameIsHeldBackUntilATagFollows) {
  AnswerParser parser(tools());
  EXPECT_TRUE(parser.push("<tool_call>now").empty());
  EXPECT_TRUE(parser.push("</tool_cal").empty());
  EXPECT_EQ(parser.push("l>").size(), 3u);
}

TEST(AnswerParser, StringsAreToldAsTheyCome) {
  AnswerParser parser(tools());
  parser.push("<tool_call>write<arg_key>text</arg_key><arg_value>");
  const std::vector<AnswerEvent> events = parser.push("12 <");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0], (AnswerEvent{AnswerEvent::Kind::arguments, "12 ", 0}));
}

TEST(AnswerParser, ValuesHaveTheTypesOfTheSchema) {
  EXPECT_EQ(argument("n", "12"), R"({"n":12})");
  EXPECT_EQ(argument("n", " 12\n"), R"({"n":12})");
  EXPECT_EQ(argument("n", "twelve"), R"({"n":"twelve"})");
  EXPECT_EQ(argument("n", ""), R"({"n":""})");
  EXPECT_EQ(argument("n", "123456789012345678901234567890"), R"({"n":123456789012345678901234567890})");
  EXPECT_EQ(argument("x", "-1.50"), R"({"x":-1.50})");
  EXPECT_EQ(argument("x", "1e999"), R"({"x":"1e999"})");
  EXPECT_EQ(argument("flag", "true"), R"({"flag":true})");
  EXPECT_EQ(argument("flag", "True"), R"({"flag":"True"})");
  EXPECT_EQ(argument("list", "[1, \"a\"]"), R"({"list":[1, "a"]})");
  EXPECT_EQ(argument("list", "[1, "), R"({"list":"[1, "})");
  EXPECT_EQ(argument("map", R"({"a": {"b": null}})"), R"({"map":{"a": {"b": null}}})");
  EXPECT_EQ(argument("none", "null"), R"({"none":null})");
}

TEST(AnswerParser, ValuesOfSeveralTypes) {
  EXPECT_EQ(argument("note", "null"), R"({"note":null})");
  EXPECT_EQ(argument("note", "nothing"), R"({"note":"nothing"})");
  EXPECT_EQ(argument("note", "12"), R"({"note":"12"})");
  EXPECT_EQ(argument("note", ""), R"({"note":""})");
  EXPECT_EQ(argument("choice", "a"), R"({"choice":"a"})");
  EXPECT_EQ(argument("choice", "1"), R"({"choice":1})");
  EXPECT_EQ(argument("any", "1"), R"({"any":1})");
  EXPECT_EQ(argument("any", "{\"a\":1}"), R"({"any":{"a":1}})");
  EXPECT_EQ(argument("any", "{a}"), R"({"any":"{a}"})");
  EXPECT_EQ(argument("any", "\"a\""), R"({"any":"\"a\""})");
  EXPECT_EQ(argument("any", "  "), R"({"any":"  "})");
  EXPECT_EQ(argument("other", "1"), R"({"other":1})");
}

TEST(AnswerParser, KeysMayHoldAnything) {
  EXPECT_EQ(argument("\"<\n", "1"), R"({"\"<\n":1})");
  EXPECT_EQ(argument("", "1"), R"({"":1})");
}

TEST(AnswerParser, TagsInValuesAreText) {
  EXPECT_EQ(argument("any", "<arg_value>a</arg_value>b<tool_call>c</tool_call></arg_value>\nd"),
            R"({"any":"<arg_value>a</arg_value>b<tool_call>c</tool_call></arg_value>\nd"})");
  EXPECT_EQ(argument("any", "</arg_value></arg_value>"), R"({"any":"</arg_value></arg_value>"})");
}

TEST(AnswerParser, AnUnknownToolIsCalled) {
  EXPECT_EQ(read_every_way("<tool_call>what<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>"),
            "call #0 what|with #0 {\"a\":1}|end#0 ");
}

TEST(AnswerParser, WithoutToolsACallIsContent) {
  EXPECT_EQ(read_every_way("a <tool_call>now</tool_call>", ReasoningText::none, {}),
            "say a <tool_call>now</tool_call>");
}

TEST(AnswerParser, WhatDoesNotBecomeACallIsContent) {
  for (const std::string_view text :
       {"a <tool_call>", "<tool_call", "<tool_call>now", "<tool_call>now </tool_cal",
        "<tool_call></tool_call>", "<tool_call>{\"name\": \"now\"}</tool_call>",
        "<tool_call>no w</tool_call>", "<tool_call>now \n x", "<tool_call><arg_key>a</arg_key>",
        "<tool_call>now</arg_key>", " </tool_call> "}) {
    EXPECT_EQ(read_every_way(text), "say " + std::string(text));
  }
}

TEST(AnswerParser, ACallAfterOneThatWasNone) {
  EXPECT_EQ(read_every_way("<tool_call>no <tool_call>now</tool_call>"),
            "say <tool_call>no|call #0 now|with #0 {}|end#0 ");
}

TEST(AnswerParser, ABrokenCallComesBackWhole) {
  const std::string begin = "<tool_call>add<arg_key>n</arg_key>";
  const std::string one = begin + "<arg_value>1</arg_value>";
  EXPECT_EQ(read_every_way(" " + begin + " 5</tool_call>"),
            "call #0 add|with #0 {\"n\":|broken #0 " + begin + " |say 5</tool_call>");
  EXPECT_EQ(read_every_way(one), "call #0 add|with #0 {\"n\":|broken #0 " + one);
  EXPECT_EQ(read_every_way(one + "</tool"), "call #0 add|with #0 {\"n\":|broken #0 " + one + "</tool");
  EXPECT_EQ(
      read_every_way(one + "<arg_key>n</arg_key><tool_call>now</tool_call>"),
      "call #0 add|with #0 {\"n\":1|broken #0 " + one + "<arg_key>n</arg_key>|call #1 now|with #1 {}|end#1 ");
}

TEST(AnswerParser, SizesAreBounded) {
  const std::string name(kMaxToolNameBytes, 'a');
  EXPECT_EQ(read({"<tool_call>" + name + "</tool_call>"}, ReasoningText::none),
            "call #0 " + name + "|with #0 {}|end#0 ");
  EXPECT_EQ(read({"<tool_call>" + name + "a</tool_call>"}, ReasoningText::none),
            "say <tool_call>" + name + "a</tool_call>");

  const std::string call = "<tool_call>add<arg_key>", key(4096, 'k');
  const std::string rest = "</arg_key><arg_value>1</arg_value></tool_call>";
  EXPECT_EQ(read({call + key + rest}, ReasoningText::none), "call #0 add|with #0 {\"" + key + "\":1}|end#0 ");
  EXPECT_EQ(read({call + key + "kk" + rest}, ReasoningText::none),
            "call #0 add|broken #0 " + call + key + "k|say k" + rest);

  const std::string text = "<tool_call>write<arg_key>text</arg_key><arg_value>" + std::string(17 << 20, 'x');
  const std::string whole = read({text}, ReasoningText::none);
  EXPECT_TRUE(whole.ends_with("|say " + std::string(text.size() - (16 << 20), 'x')));
  EXPECT_EQ(read({text.substr(0, 1000), text.substr(1000, 16 << 20), text.substr(1000 + (16 << 20))},
                 ReasoningText::none),
            whole);
}

// Four times the text costs about four times as long, whatever it is of: far less than the sixteen times of a
// quadratic parser.
TEST(AnswerParser, TimeIsLinear) {
  const auto seconds = [](std::string_view unit, size_t bytes, bool pieces) {
    std::string text = "<tool_call>add<arg_key>any</arg_key><arg_value>";
    if (!unit.starts_with("</arg_value>")) text.clear();
    while (text.size() < bytes) text += unit;
    const auto start = std::chrono::steady_clock::now();
    AnswerParser parser(tools());
    if (!pieces) parser.push(text);
    for (size_t i = 0; pieces && i < text.size(); ++i) parser.push({&text[i], 1});
    parser.finish();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  for (const bool pieces : {false, true}) {
    for (const std::string_view unit :
         {"<", " ", "<tool_call>", "<tool_call>a<arg_key>", "</arg_value> ", "</arg_value> <arg_ke",
          "<tool_call>add<arg_key>map</arg_key><arg_value>{", "<tool_call>now</tool_call>\n"}) {
      double ratio = 0;  // the best of five: the machine may be busy
      for (int i = 0; i < 5 && (i == 0 || ratio > 8); ++i) {
        ratio = seconds(unit, 1 << 20, pieces) / seconds(unit, 1 << 18, pieces);
      }
      EXPECT_LT(ratio, 8) << unit << (pieces ? " byte by byte" : "");
    }
  }
}

TEST(ParsedAnswer, GathersEvents) {
  AnswerParser parser(tools(), ReasoningText::open);
  ParsedAnswer answer;
  for (const AnswerEvent& event :
       parser.push("hm</think>I do. <tool_call>now</tool_call><tool_call>add<arg_key>n</arg_key>?")) {
    answer.add(event);
  }
  for (const AnswerEvent& event : parser.finish()) answer.add(event);
  EXPECT_EQ(answer.reasoning, "hm");
  EXPECT_EQ(answer.content, "I do.<tool_call>add<arg_key>n</arg_key>?");
  ASSERT_EQ(answer.calls.size(), 1u);
  EXPECT_EQ(answer.calls[0].name, "now");
  EXPECT_EQ(answer.calls[0].arguments, "{}");
}

}  // namespace
}  // namespace indexshare
