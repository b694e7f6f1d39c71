// The interpreter against jinja2 (jinja_cases.json, see make_jinja_cases.py), its errors and its limits.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "text/jinja/template.h"

namespace indexshare::jinja {
namespace {

Result<std::string> render(std::string_view source, const Json& variables = Json::object(),
                           const Limits& limits = {}) {
  auto parsed = Template::parse(source, "test.jinja");
  if (!parsed) return parsed.error();
  return parsed->render(variables, limits);
}

std::string error_of(std::string_view source, const Json& variables = Json::object(),
                     const Limits& limits = {}) {
  const auto result = render(source, variables, limits);
  return result ? "no error, but: " + result->substr(0, 200) : result.error().message;
}

// As error_of, with limits that are reached at once.
std::string tight_error_of(std::string_view source) {
  Limits limits;
  limits.steps = 3'000'000;
  limits.bytes = 64 << 20;
  limits.output_bytes = 8 << 20;
  return error_of(source, Json::object(), limits);
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string repeated(std::string_view text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

TEST(Jinja, AgreesWithJinja2OnEverySnippet) {
  std::ifstream file(INDEXSHARE_SOURCE_DIR "/tests/text/jinja_cases.json");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto cases = parse_json(text, "jinja_cases.json");
  ASSERT_TRUE(cases.ok()) << cases.error().message;
  ASSERT_GT((*cases)["cases"].size(), 3000u);
  for (const Json& test : (*cases)["cases"]) {
    const std::string source = test["template"];
    const auto result = render(source, (*cases)["variables"]);
    if (test.contains("error")) {
      EXPECT_FALSE(result.ok()) << source << "\nmade: " << *result << "\njinja2: " << test["error"];
    } else {
      ASSERT_TRUE(result.ok()) << source << "\n" << result.error().message;
      EXPECT_EQ(*result, test["rendered"].get<std::string>()) << source;
    }
  }
}

TEST(Jinja, ErrorsNameTheTemplateAndTheLine) {
  EXPECT_EQ(error_of("one\n{{ missing.x }}"), "test.jinja, line 2: 'missing' is undefined");
  EXPECT_EQ(error_of("{% if true %}\n\n{% for %}"), "test.jinja, line 3: expected a name, got '%}'");
  EXPECT_EQ(error_of("{% macro m() %}\n{{ 1 / 0 }}{% endmacro %}\n\n{{ m() }}"),
            "test.jinja, line 2: division by zero");
  EXPECT_EQ(error_of("\n\n{{ 'a' | nosuch }}"), "test.jinja, line 3: there is no filter named 'nosuch'");
  EXPECT_EQ(error_of("a\n{# open"), "test.jinja, line 2: a comment is not closed");
  EXPECT_EQ(error_of("{{ raise_exception('roles must alternate') }}"),
            "test.jinja, line 1: the template refuses: roles must alternate");
  EXPECT_EQ(error_of("{{ {'a': 1}.b.c }}"), "test.jinja, line 1: 'dict object' has no attribute 'b'");
}

TEST(Jinja, RefusesWhatIsNoTemplate) {
  EXPECT_TRUE(contains(error_of("\xff"), "not valid UTF-8"));
  EXPECT_TRUE(contains(error_of(std::string(kMaxTemplateBytes + 1, 'x')), "larger than the allowed"));
  EXPECT_TRUE(contains(error_of("x", Json::array()), "must be an object"));
  EXPECT_TRUE(contains(error_of("{{ x }}", Json{{"x", "\xff"}}), "not valid UTF-8"));
}

TEST(Jinja, VariablesThatAreNotNamedAreNotLookedAt) {
  EXPECT_EQ(*render("{{ y }}", Json{{"x", "\xff"}, {"y", 1}}), "1");
}

TEST(Jinja, LargeIntegersPrintExactly) {
  const Json variables{{"big", uint64_t{18446744073709551615u}}, {"small", INT64_MIN}};
  EXPECT_EQ(
      *render("{{ big }} {{ big|tojson }} {{ big is number }} {{ big == big }} {{ big > 1 }}", variables),
      "18446744073709551615 18446744073709551615 True True True");
  EXPECT_EQ(*render("{{ small }}", variables), "-9223372036854775808");
}

TEST(Jinja, IntegersBeyond64BitsAreErrors) {
  for (const char* source : {"{{ 9223372036854775807 + 1 }}", "{{ 9223372036854775808 }}", "{{ 10 ** 19 }}",
                             "{{ -n - 2 }}", "{{ n * 2 }}", "{{ m // -1 }}", "{{ -m }}", "{{ m | abs }}",
                             "{{ '9223372036854775808' | int }}", "{{ 1e30 | int }}", "{{ big + 1 }}"}) {
    const Json variables{{"n", INT64_MAX}, {"m", INT64_MIN}, {"big", UINT64_MAX}};
    EXPECT_TRUE(contains(error_of(source, variables), "64")) << source << ": " << error_of(source, variables);
  }
  EXPECT_EQ(*render("{{ m % -1 }}", Json{{"m", INT64_MIN}}), "0");
}

TEST(Jinja, DeepNestingIsRefusedWhenParsed) {
  for (const auto& [open, middle, close] : {std::tuple{"(", "1", ")"},
                                            {"[", "1", "]"},
                                            {"-", "1", ""},
                                            {"not ", "1", ""},
                                            {"{'a':", "1", "}"},
                                            {"a[", "1", "]"},
                                            {"f(", "1", ")"},
                                            {"1 if 1 else ", "1", ""}}) {
    const std::string source = "{{ " + repeated(open, 20'000) + middle + repeated(close, 20'000) + " }}";
    EXPECT_TRUE(contains(error_of(source), "nested deeper")) << open;
  }
  EXPECT_TRUE(contains(error_of(repeated("{% if 1 %}", 20'000)), "nested deeper"));
  EXPECT_TRUE(contains(error_of("{% set " + repeated("(", 20'000)), "nested deeper"));
  for (const char* link : {".a", "|d", "[0]", "()", " is defined()", "+1", "**1", " and 1", " or 1", "//1"}) {
    EXPECT_TRUE(contains(error_of("{{ a" + repeated(link, 20'000) + " }}"), "operators in a row")) << link;
  }
  EXPECT_EQ(*render("{{ " + repeated("(", 40) + "1" + repeated(")", 40) + " }}"), "1");
  EXPECT_EQ(*render("{{ 0" + repeated(" + 1", 300) + " }}"), "300");
}

TEST(Jinja, EndlessRecursionEnds) {
  EXPECT_TRUE(contains(error_of("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"), "nested deeper"));
  EXPECT_TRUE(
      contains(error_of("{% for x in [[]] recursive %}{{ loop([x]) }}{% endfor %}"), "nested deeper"));
  EXPECT_TRUE(contains(error_of("{% macro m(x) %}{% call m(caller) %}{% endcall %}{% endmacro %}{{ m(1) }}"),
                       "nested deeper"));
}

TEST(Jinja, WorkIsBounded) {
  const std::string loop = "{% for a in range(99999) %}";
  EXPECT_TRUE(contains(tight_error_of(loop + loop + loop + "{% endfor %}{% endfor %}{% endfor %}"),
                       "more than the allowed"));
  EXPECT_TRUE(contains(tight_error_of("{{ 'x' * 10000000000 }}"), "bytes of values"));
  EXPECT_TRUE(contains(tight_error_of("{{ [0] * 10000000000 }}"), "bytes of values"));
  EXPECT_TRUE(contains(tight_error_of("{{ '%1000000000000d' % 1 }}"), "too big"));
  EXPECT_TRUE(contains(tight_error_of("{{ '%*d' % (99999999999, 1) }}"), "bytes of values"));
  EXPECT_TRUE(
      contains(tight_error_of("{{ '{:>2000000000}{:>2000000000}'.format(1, 1) }}"), "bytes of values"));
  EXPECT_TRUE(contains(tight_error_of("{{ '%.999999f' % 1.5 }}"), "precision"));
  EXPECT_TRUE(contains(tight_error_of("{{ 'a'.center(10000000000) }}"), "bytes of values"));
  EXPECT_TRUE(contains(tight_error_of("{{ 'a' | indent(10000000000, true) }}"), "bytes of values"));
  EXPECT_TRUE(contains(tight_error_of("{{ [1] | batch(10000000000, 0) | list }}"), "bytes of values"));
  EXPECT_TRUE(contains(tight_error_of("{{ [1] | slice(10000000000) | list }}"), "more than the allowed"));
  EXPECT_TRUE(contains(tight_error_of("{{ range(100001) }}"), "larger than the allowed"));
  EXPECT_TRUE(contains(tight_error_of("{{ range(-9223372036854775807, 9223372036854775807) }}"),
                       "larger than the allowed"));
  EXPECT_TRUE(
      contains(tight_error_of("{% set a = 'x' * 100000 %}{{ a.replace('x', a) }}"), "bytes of values"));
  EXPECT_TRUE(contains(tight_error_of("{% set a = 'x' * 999999 %}{% for i in range(9) %}{{ a }}{% endfor %}"),
                       "bytes of output"));
}

// A value that holds another twice, a hundred levels deep, is small but endless to print, compare or hash.
TEST(Jinja, SharedStructuresDoNotExplode) {
  const std::string build =
      "{% set n = namespace(a=(1,), b=(1,)) %}{% for i in range(100) %}"
      "{% set n.a = (n.a, n.a) %}{% set n.b = (n.b, n.b) %}{% endfor %}";
  for (const char* use : {"{{ n.a }}", "{{ n.a|tojson }}", "{{ n.a == n.b }}", "{{ n.a < n.b }}",
                          "{{ {n.a: 1} }}", "{{ [n.a, n.b]|unique|list }}"}) {
    EXPECT_TRUE(contains(tight_error_of(build + use), "more than the allowed")) << use;
  }
}

TEST(Jinja, ChainsOfValuesDoNotOverflowTheStack) {
  const auto grow = [](std::string_view step) {
    return "{% set n = namespace(a=[]) %}{% for i in range(90000) %}{% set n.a = " + std::string(step) +
           " %}{% endfor %}done";
  };
  for (const char* step : {"[n.a]", "(n.a,)", "{'k': n.a}", "[n.a]|map('string')", "dict(a=n.a).items()",
                           "cycler(n.a)", "joiner(n.a)", "[n.a].index", "[n.a]|reverse"}) {
    EXPECT_TRUE(contains(error_of(grow(step)), "nested deeper")) << step;
  }
  EXPECT_EQ(*render(grow("namespace(a=n.a)")), "done");
  EXPECT_TRUE(
      contains(error_of("{% set n = namespace(m=1) %}{% macro make(x) %}{% macro inner(y) %}{{ make(y) }}"
                        "{% endmacro %}{% set n.m = inner %}{% endmacro %}{{ make(1) }}"
                        "{% for i in range(9000) %}{{ n.m(n.m) }}{% endfor %}done"),
               "done"));
}

TEST(Jinja, ValuesThatHoldThemselvesAreLetGo) {
  // Leaks would be found by the sanitizers.
  EXPECT_EQ(
      *render("{% set n = namespace() %}{% set n.self = n %}{% set n.list = [n] %}{{ n.self.list|length }}"),
      "1");
  EXPECT_EQ(*render("{% macro m() %}{% macro k() %}x{% endmacro %}{{ k() }}{% endmacro %}{{ m() }}"), "x");
  EXPECT_EQ(
      *render(
          "{% set n = namespace() %}{% for i in [1] %}{% set n.loop = loop %}{% endfor %}{{ n.loop.index }}"),
      "1");
  EXPECT_TRUE(contains(
      error_of("{% set n = namespace() %}{% for i in [[1]] recursive %}{% set n.l = loop %}{% endfor %}"
               "{{ n.l([2]) }}"),
      "the loop is over"));
}

TEST(Jinja, SearchingIsLinear) {
  const Json variables{{"a", std::string(1 << 20, 'a')}, {"b", std::string(1 << 19, 'a') + "b"}};
  EXPECT_EQ(
      *render(
          "{{ b in a }}{{ a.find(b) }}{{ a.count(b) }}{{ a.split(b)|length }}{{ a.replace(b, '')|length }}"
          "{{ a.rfind('b' ~ b) }}{{ a.rsplit('b' ~ b)|length }}",
          variables),
      "False-1011048576-11");
}

TEST(Jinja, LimitsCanBeTightened) {
  Limits limits;
  limits.steps = 100;
  EXPECT_TRUE(
      contains(error_of("{% for i in range(99) %}{{ i }}{% endfor %}", Json::object(), limits), "100 steps"));
  limits = {};
  limits.output_bytes = 5;
  EXPECT_TRUE(contains(error_of("123456", Json::object(), limits), "5 bytes of output"));
  EXPECT_EQ(*render("12345", Json::object(), limits), "12345");
}

TEST(Jinja, TheCurrentDateIsFormatted) {
  const std::string year = *render("{{ strftime_now('%Y') }}");
  EXPECT_EQ(year.size(), 4u);
  EXPECT_GE(year, "2024");
  EXPECT_EQ(*render("{{ strftime_now('%%%%') }}"), "%%");
}

TEST(Jinja, VariablesShadowGlobals) {
  EXPECT_EQ(*render("{{ range }}", Json{{"range", "mine"}}), "mine");
}

}  // namespace
}  // namespace indexshare::jinja
