// Chat templates: what is made of messages first, where models keep them, and real ones against their
// reference (shared data, not part of the repository).
#include "text/chat_template.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>

#ifdef INDEXSHARE_TEST_LZMA
#include "text/xz.h"
#endif

namespace indexshare {
namespace {

namespace fs = std::filesystem;

class ModelDir : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    dir_ = fs::path(::testing::TempDir()) / (std::string("chat_template_") + test->name());
    fs::remove_all(dir_);
    fs::create_directories(dir_);
  }
  void TearDown() override { fs::remove_all(dir_); }

  void write(const char* name, std::string_view text) const {
    std::ofstream(dir_ / name, std::ios::binary) << text;
  }

  std::string render_loaded() const {
    const auto loaded = load_chat_template(dir_);
    if (!loaded) return loaded.error().message;
    if (!*loaded) return "none";
    const auto text = (*loaded)->render(Json{{"messages", Json::array()}});
    return text ? *text : text.error().message;
  }

  fs::path dir_;
};

Json messages_of(std::string_view text) {
  return *parse_json(text, "test");
}

std::string normalized(std::string_view text) {
  Json messages = messages_of(text);
  const auto result = normalize_messages(messages);
  return result ? dump_json(messages) : result.error().message;
}

TEST(ChatTemplate, NullContentOfTheAssistantBecomesEmpty) {
  EXPECT_EQ(normalized(R"([{"role":"assistant","content":null}])"), R"([{"role":"assistant","content":""}])");
  EXPECT_EQ(normalized(R"([{"role":"assistant"}])"), R"([{"role":"assistant","content":""}])");
  EXPECT_EQ(normalized(R"([{"role":"user","content":null}])"), R"([{"role":"user","content":null}])");
  EXPECT_EQ(normalized(R"([{"role":"user"}])"), R"([{"role":"user"}])");
}

TEST(ChatTemplate, ArgumentsOfToolCallsAreParsed) {
  EXPECT_EQ(normalized(R"([{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f",)"
                       R"("arguments":"{\"b\": 1, \"a\": [2]}"}}]}])"),
            R"([{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f",)"
            R"("arguments":{"b":1,"a":[2]}}}]}])");
  EXPECT_EQ(normalized(R"([{"role":"assistant","content":"","tool_calls":[{"name":"f","arguments":""}]}])"),
            R"([{"role":"assistant","content":"","tool_calls":[{"name":"f","arguments":{}}]}])");
  EXPECT_EQ(
      normalized(R"([{"role":"assistant","content":"","tool_calls":[{"name":"f","arguments":{"x":1}}]}])"),
      R"([{"role":"assistant","content":"","tool_calls":[{"name":"f","arguments":{"x":1}}]}])");
}

TEST(ChatTemplate, BadMessagesAreNamed) {
  const std::string bad = normalized(
      R"([{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"name":"f","arguments":"{oops"}]}])");
  EXPECT_TRUE(bad.starts_with("messages[1].tool_calls[0].arguments: ")) << bad;
  EXPECT_EQ(normalized(R"([7])"), "messages[0] must be an object, not an integer");
  EXPECT_EQ(normalized(R"({})"), "messages must be an array, not an object");
}

TEST(ChatTemplate, RenderNormalizesACopy) {
  const auto parsed =
      ChatTemplate::parse("{{ messages[0].content }}|{{ messages[0].tool_calls[0].arguments.x }}", "t");
  ASSERT_TRUE(parsed.ok());
  const Json variables{{"messages", messages_of(R"([{"role":"assistant","content":null,)"
                                                R"("tool_calls":[{"arguments":"{\"x\":5}"}]}])")}};
  EXPECT_EQ(*parsed->render(variables), "|5");
  EXPECT_TRUE(variables["messages"][0]["content"].is_null());
}

TEST_F(ModelDir, TemplateFileComesFirst) {
  write("chat_template.jinja", "from the file");
  write("tokenizer_config.json", R"({"chat_template": "from the config"})");
  EXPECT_EQ(render_loaded(), "from the file");
}

TEST_F(ModelDir, TemplateInTheConfig) {
  write("tokenizer_config.json", R"({"chat_template": "from the config"})");
  EXPECT_EQ(render_loaded(), "from the config");
}

TEST_F(ModelDir, TheDefaultOfSeveralTemplates) {
  write("tokenizer_config.json",
        R"({"chat_template": [{"name": "rag", "template": "a"}, {"name": "default", "template": "b"}]})");
  EXPECT_EQ(render_loaded(), "b");
  write("tokenizer_config.json", R"({"chat_template": [{"name": "rag", "template": "a"}]})");
  EXPECT_NE(render_loaded().find("none of its 1 templates is named \"default\""), std::string::npos);
}

TEST_F(ModelDir, ModelsWithoutATemplate) {
  EXPECT_EQ(render_loaded(), "none");
  write("tokenizer_config.json", R"({"bos_token": "<s>"})");
  EXPECT_EQ(render_loaded(), "none");
  write("tokenizer_config.json", R"({"chat_template": null})");
  EXPECT_EQ(render_loaded(), "none");
}

TEST_F(ModelDir, ErrorsNameTheFile) {
  write("chat_template.jinja", "\n{% oops %}");
  const std::string message = render_loaded();
  EXPECT_NE(message.find("chat_template.jinja, line 2: unexpected tag 'oops'"), std::string::npos) << message;
  fs::remove(dir_ / "chat_template.jinja");
  write("tokenizer_config.json", R"({"chat_template": 5})");
  EXPECT_NE(render_loaded().find("tokenizer_config.json, chat_template: must be a string or a list"),
            std::string::npos);
  EXPECT_FALSE(load_chat_template(dir_ / "absent.jinja").ok());
}

TEST_F(ModelDir, AFileOfItsOwn) {
  write("mine.jinja", "{{ messages|length }}");
  const auto loaded = load_chat_template(dir_ / "mine.jinja");
  ASSERT_TRUE(loaded.ok() && loaded->has_value());
  EXPECT_EQ(*(*loaded)->render(Json{{"messages", Json::array()}}), "0");
}

TEST_F(ModelDir, SpecialTokens) {
  write("tokenizer_config.json",
        R"({"bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": false}, "pad_token": null})");
  const auto tokens = load_special_tokens(dir_);
  ASSERT_TRUE(tokens.ok()) << tokens.error().message;
  Json variables = Json::object();
  tokens->add_to(variables);
  EXPECT_EQ(dump_json(variables), R"({"bos_token":"<s>","eos_token":"</s>"})");
  write("tokenizer_config.json", R"({"bos_token": 5})");
  EXPECT_FALSE(load_special_tokens(dir_).ok());
  fs::remove(dir_ / "tokenizer_config.json");
  EXPECT_TRUE(load_special_tokens(dir_).ok());
}

#ifdef INDEXSHARE_TEST_LZMA
TEST(ChatTemplate, RealTemplatesRenderLikeTheReference) {
  const fs::path shared = INDEXSHARE_SOURCE_DIR "/../shared/templates";
  const auto lines = testing::read_xz_lines(shared / "renders.jsonl.xz");
  if (!lines) {
    std::puts("skipped: there is no shared reference data");
    return;
  }
  std::map<std::string, ChatTemplate> templates;
  for (const std::string& line : *lines) {
    const Json test = *parse_json(line, "renders.jsonl");
    const std::string name = test["template"];
    auto found = templates.find(name);
    if (found == templates.end()) {
      auto loaded = load_chat_template(shared / name);
      ASSERT_TRUE(loaded.ok()) << loaded.error().message;
      found = templates.emplace(name, **std::move(loaded)).first;
    }
    const auto rendered = found->second.render(test["variables"]);
    if (test.contains("error")) {
      EXPECT_FALSE(rendered.ok()) << name << " " << test["case"];
    } else {
      ASSERT_TRUE(rendered.ok()) << name << " " << test["case"] << " " << rendered.error().message;
      EXPECT_EQ(*rendered, test["rendered"].get<std::string>()) << name << " " << test["case"];
    }
  }
  std::printf("%zu renderings of %zu templates\n", lines->size(), templates.size());
}
#endif

}  // namespace
}  // namespace indexshare
