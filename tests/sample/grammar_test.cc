#include "sample/grammar.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "base/json.h"

namespace indexshare {
namespace {

using Kind = Constraint::Kind;

constexpr int32_t kStop = 256, kCall = 257, kWord = 258;  // after a token for each byte
constexpr size_t kTokens = 300;                           // the last ones have no text

GrammarVocabulary vocabulary() {
  GrammarVocabulary result;
  for (int byte = 0; byte < 256; ++byte) result.tokens.emplace_back(1, static_cast<char>(byte));
  result.tokens.resize(kTokens);
  result.tokens[kCall] = "<tool_call>";
  result.tokens[kWord] = "true";
  result.markers = {kCall};
  return result;
}

GrammarCompiler& compiler() {
  static GrammarCompiler compiler(vocabulary);
  return compiler;
}

Constraint make(Kind kind, std::string text) {
  return {.kind = kind, .text = std::move(text)};
}

/// What a constraint makes of a text, byte by byte.
class Answer {
 public:
  explicit Answer(const Constraint& constraint) {
    const auto grammar = compiler().compile(constraint);
    EXPECT_TRUE(grammar.ok()) << grammar.error().message;
    const std::vector<int32_t> stops = {kStop};
    if (grammar.ok()) matcher_.emplace(*grammar, stops);
  }

  bool allows(int32_t id) const {
    const auto allowed = matcher_->allowed();
    return ((allowed[static_cast<size_t>(id) / 32] >> (id % 32)) & 1) != 0;
  }

  /// How much of the text may stand there.
  size_t take(std::string_view text) {
    for (size_t i = 0; i < text.size(); ++i) {
      const int32_t id = static_cast<unsigned char>(text[i]);
      const bool allowed = allows(id);
      EXPECT_EQ(accept(id), allowed) << text.substr(0, i + 1);
      if (!taken_) return i;
    }
    return text.size();
  }

  bool accept(int32_t id) { return taken_ = matcher_->accept(id); }
  bool may_end() const { return allows(kStop); }
  bool must_end() const { return matcher_->must_end(); }

 private:
  std::optional<GrammarMatcher> matcher_;
  bool taken_ = false;
};

bool fits(const Constraint& constraint, std::string_view text) {
  Answer answer(constraint);
  return answer.take(text) == text.size() && answer.may_end();
}

std::string refusal(const Constraint& constraint) {
  const auto grammar = compiler().compile(constraint);
  return grammar.ok() ? "compiled" : grammar.error().message;
}

TEST(Grammar, AnObjectOfJson) {
  const Constraint object = make(Kind::json_object, "");
  for (const char* text :
       {"{}", R"({"a": 1, "b": [true, null, -1.5e3], "c": {"d": "\u00e9 \" é"}})", "{\n  \"a\": []\n}"}) {
    EXPECT_TRUE(fits(object, text)) << text;
  }
  for (const char* text :
       {"[]", "1", "{", R"({"a"})", R"({"a": 01})", R"({"a": 1,})", "{'a': 1}", "{}{}", ""}) {
    EXPECT_FALSE(fits(object, text)) << text;
  }
  Answer answer(object);
  EXPECT_EQ(answer.take(R"({"a": 1)"), 7u);
  EXPECT_FALSE(answer.may_end());
  EXPECT_EQ(answer.take("}"), 1u);
  EXPECT_TRUE(answer.may_end());
  EXPECT_TRUE(answer.must_end());
  EXPECT_FALSE(answer.accept(kStop));  // it is not the grammar's business, and changes nothing
  EXPECT_TRUE(answer.must_end());
}

TEST(Grammar, JsonByASchema) {
  const Constraint schema = make(Kind::json_schema, R"({"type": "object", "properties": {
      "name": {"type": "string", "pattern": "^[a-z]{2,4}$"}, "age": {"type": "integer", "minimum": 0, "maximum": 120},
      "kind": {"enum": ["cat", "dog", null]}, "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}, "maxItems": 2},
      "not": {"type": "boolean"}},
      "required": ["name", "age"], "$defs": {"tag": {"type": "string", "maxLength": 3}}})");
  for (const char* text : {R"({"name": "abc", "age": 120})",
                           R"({"name":"ab","age":0,"kind":null,"tags":["xyz",""],"not":true})"}) {
    EXPECT_TRUE(fits(schema, text)) << text;
  }
  for (const char* text :
       {R"({"name": "abcde", "age": 1})", R"({"name": "ABC", "age": 1})", R"({"name": "abc", "age": 121})",
        R"({"name": "abc"})", R"({"age": 1, "name": "abc"})", R"({"name": "abc", "age": 1, "more": 1})",
        R"({"name": "abc", "age": 1, "kind": "cow"})", R"({"name": "abc", "age": 1, "tags": ["abcd"]})",
        R"({"name": "abc", "age": 1, "tags": ["a", "b", "c"]})", R"({"name": "abc", "age": 1.5})"}) {
    EXPECT_FALSE(fits(schema, text)) << text;
  }
}

TEST(Grammar, ARegularExpression) {
  const Constraint date = make(Kind::regex, R"(\d{4}-(0[1-9]|1[0-2])( (am|pm))?)");
  EXPECT_TRUE(fits(date, "2024-12"));
  EXPECT_TRUE(fits(date, "2024-01 pm"));
  for (const char* text : {"2024-13", "24-12", "2024-12 ", "x2024-12"})
    EXPECT_FALSE(fits(date, text)) << text;
  Answer answer(date);
  answer.take("2024-12");
  EXPECT_TRUE(answer.may_end());
  EXPECT_FALSE(answer.must_end());
  EXPECT_TRUE(fits(make(Kind::regex, "[α-ω]+"), "λόγος") || fits(make(Kind::regex, "[α-ω]+"), "λογος"));
}

TEST(Grammar, OneOfSomeTexts) {
  const Constraint choice = {.kind = Kind::choice, .text = {}, .choices = {"yes", "yes, \"sure\"", "no\n"}};
  EXPECT_TRUE(fits(choice, "yes"));
  EXPECT_TRUE(fits(choice, "yes, \"sure\""));
  EXPECT_TRUE(fits(choice, "no\n"));
  EXPECT_FALSE(fits(choice, "no"));
  EXPECT_FALSE(fits(choice, "maybe"));
}

TEST(Grammar, Ebnf) {
  const Constraint sums =
      make(Kind::grammar, "root ::= term (\" + \" term)*  # a sum\nterm ::= [0-9]+ | \"(\" root \")\"\n");
  EXPECT_TRUE(fits(sums, "1 + (2 + 34) + 5"));
  EXPECT_FALSE(fits(sums, "1 + (2"));
  EXPECT_FALSE(fits(sums, "1 +"));
}

TEST(Grammar, MarkersAreForStructuralTagsAlone) {
  Answer object(make(Kind::json_object, ""));
  object.take(R"({"a": ")");
  EXPECT_FALSE(object.allows(kCall));
  EXPECT_TRUE(object.allows(kWord));
  EXPECT_TRUE(object.allows('<'));
  EXPECT_FALSE(object.allows(299));  // no text
  EXPECT_TRUE(object.accept(kWord));
  Answer call(
      make(Kind::structural_tag,
           R"({"type": "structural_tag", "format": {"type": "const_string", "value": "<tool_call>x"}})"));
  EXPECT_TRUE(call.accept(kCall));
  EXPECT_EQ(call.take("x"), 1u);
  EXPECT_TRUE(call.must_end());
}

TEST(Grammar, RefusalsBeginWithTheKind) {
  EXPECT_EQ(refusal(make(Kind::json_schema, "{")).find("json_schema"), 0u)
      << refusal(make(Kind::json_schema, "{"));
  EXPECT_EQ(refusal(make(Kind::json_schema, "[]")), "json_schema is an array, expected an object");
  EXPECT_EQ(refusal(make(Kind::json_schema, "")), "json_schema is empty");
  EXPECT_EQ(refusal(make(Kind::json_schema, R"({"items": {"uniqueItems": true}})")),
            "json_schema has the keyword \"uniqueItems\", which answers cannot be bound to");
  for (const char* schema : {R"({"allOf": [{"required": ["a"]}, {"required": ["b"]}]})",
                             R"({"type": "number", "multipleOf": 3})"}) {
    EXPECT_EQ(refusal(make(Kind::json_schema, schema)).find("json_schema was not understood: "), 0u)
        << schema;
  }
  EXPECT_EQ(refusal(make(Kind::json_schema, R"({"required": ["a"], "anyOf": [{"type": "object"}]})")),
            "json_schema has anyOf beside required, but answers can be bound to one of them alone");
  EXPECT_EQ(refusal(make(Kind::json_schema, R"({"type": "thing"})")).find("json_schema was not understood: "),
            0u);
  EXPECT_EQ(refusal(make(Kind::json_schema, R"({"$ref": "#/$defs/none"})"))
                .find("json_schema was not understood: "),
            0u);
  for (const char* regex : {"(", "[", "a{", "a**", "(?=a)", R"(\1)", "a{2,1}"}) {
    EXPECT_EQ(refusal(make(Kind::regex, regex)).find("regex was not understood: "), 0u) << regex;
  }
  for (const char* grammar : {"root ::= ", "other ::= \"a\"", "root ::= missing", "root ::= \"a"}) {
    EXPECT_EQ(refusal(make(Kind::grammar, grammar)).find("grammar was not understood: "), 0u) << grammar;
  }
  EXPECT_EQ(
      refusal(make(Kind::structural_tag, R"({"type": "other"})")).find("structural_tag was not understood: "),
      0u);
  EXPECT_EQ(refusal(make(Kind::regex, "a\xa4")), "regex is not UTF-8");
  EXPECT_EQ(refusal({.kind = Kind::choice, .choices = {"a\xa4"}}), "choice has a text that is not UTF-8");
  EXPECT_EQ(refusal({.kind = Kind::choice}), "choice is empty, expected a text or more");
  EXPECT_EQ(refusal({.kind = Kind::choice, .text = {}, .choices = {"a", ""}}),
            "choice has a text that is empty");
}

TEST(Grammar, WhatWouldGrowWithoutBoundIsRefusedAtOnce) {
  const auto start = std::chrono::steady_clock::now();
  const std::string nested = "((((a{99}){99}){99}){99})";
  EXPECT_EQ(refusal(make(Kind::regex, nested)),
            "regex repeats too much: written out it has more than 20000 elements");
  EXPECT_EQ(refusal(make(Kind::grammar, "root ::= " + nested)),
            "grammar repeats too much: written out it has more than 20000 elements");
  EXPECT_EQ(refusal(make(Kind::json_schema, R"({"properties": {"a": {"pattern": ")" + nested + "\"}}}")),
            "json_schema repeats too much: written out it has more than 20000 elements");
  EXPECT_EQ(refusal(make(Kind::regex, std::string(5000, 'a'))),
            "regex has 5000 bytes, expected 4096 at most");
  EXPECT_EQ(refusal(make(Kind::json_schema, std::string(300'000, ' '))),
            "json_schema has 300000 bytes, expected 262144 at most");
  Json many = {{"type", "object"}, {"properties", Json::object()}};
  for (int i = 0; i < 501; ++i) many["properties"][std::to_string(i)] = Json::object();
  EXPECT_EQ(refusal(make(Kind::json_schema, dump_json(many))),
            "json_schema has an object of 501 properties, expected 500 at most");
  many["maxProperties"] = 3;
  EXPECT_EQ(refusal(make(Kind::json_schema, dump_json({{"items", many}}))),
            "json_schema has an object of 501 properties, expected 32 at most beside minProperties or "
            "maxProperties");
  std::string deep = "1";
  for (int i = 0; i < 300; ++i) deep = "{\"items\":" + deep + "}";
  EXPECT_EQ(refusal(make(Kind::json_schema, deep)).find("json_schema"), 0u);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST(Grammar, WhatTakesTooMuchWorkToFollowIsLost) {
  const auto grammar = compiler().compile(make(Kind::grammar, "root ::= s \"c\"\ns ::= s s s | s s | \"a\""));
  ASSERT_TRUE(grammar.ok());
  GrammarMatcher matcher(*grammar, std::vector<int32_t>{kStop});
  const auto start = std::chrono::steady_clock::now();
  int taken = 0;
  while (taken < 5000 && matcher.accept('a')) ++taken;
  EXPECT_GT(taken, 20);
  EXPECT_LT(taken, 5000);
  EXPECT_TRUE(matcher.is_lost());
  EXPECT_FALSE(matcher.must_end());
  for (const uint32_t word : matcher.allowed()) EXPECT_EQ(word, 0u);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
  GrammarMatcher other(*grammar, std::vector<int32_t>{kStop});  // which is none the worse
  EXPECT_TRUE(other.accept('a') && other.accept('c') && other.must_end() && !other.is_lost());
}

TEST(Grammar, CompilesFromManyThreads) {
  GrammarCompiler own(vocabulary);
  std::vector<std::thread> threads;
  std::atomic<int> compiled = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 4; ++k) {
        const Constraint constraint = make(Kind::regex, "[ab]{" + std::to_string((i + k) % 5 + 1) + "}");
        if (own.compile(constraint).ok()) ++compiled;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(compiled, 32);
}

}  // namespace
}  // namespace indexshare
