// The tokenizer on real files: the reference's ids on every shared line, hostile texts, the pocket model's
// tokenizer.
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "text/bpe.h"
#include "text/stream_decoder.h"
#include "text/tiny_tokenizer.h"
#include "text/tokenizer.h"
#ifdef INDEXSHARE_TEST_LZMA
#include "text/xz.h"
#endif

namespace indexshare {
namespace {

const std::filesystem::path kRoot = INDEXSHARE_SOURCE_DIR;

#ifdef INDEXSHARE_TEST_LZMA

/// Checks ids, decoded text and streamed text of each line of encodings.jsonl against `folder`.
void expect_parity(const std::string& folder) {
  const std::filesystem::path path = kRoot / "../shared/tokenizers" / folder;
  if (!std::filesystem::exists(path))
    GTEST_SKIP() << path << " is not here: parity with " << folder << " is not tested";
  const std::optional<std::string> json = testing::read_xz(path / "tokenizer.json.xz");
  const std::optional<std::vector<std::string>> lines = testing::read_xz_lines(path / "encodings.jsonl.xz");
  ASSERT_TRUE(json && lines);
  const Result<Tokenizer> tokenizer = Tokenizer::parse(*json, folder);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  ASSERT_GT(lines->size(), 300u);
  for (const std::string& line : *lines) {
    const nlohmann::json expected = nlohmann::json::parse(line);
    const std::vector<int32_t> ids = expected["ids"];
    EXPECT_EQ(tokenizer->encode(expected["text"].get<std::string>()), ids) << line;
    EXPECT_EQ(tokenizer->decode(ids, false), expected["decoded"].get<std::string>()) << line;
    StreamDecoder stream(*tokenizer);
    std::string streamed;
    for (const int32_t id : ids) streamed += stream.push(id);
    EXPECT_EQ(streamed + stream.flush(), expected["decoded"].get<std::string>()) << line;
  }
}

TEST(TokenizerParity, Qwen3) {
  expect_parity("qwen3");
}
TEST(TokenizerParity, DeepSeekV3) {
  expect_parity("deepseek_v3");
}

#endif

Tokenizer pocket_tokenizer() {
  Result<Tokenizer> tokenizer = Tokenizer::load(kRoot / "models/pocket/tokenizer.json");
  if (!tokenizer) ADD_FAILURE() << tokenizer.error().message;
  return std::move(tokenizer).value();
}

TEST(PocketTokenizer, KnowsItsSpecialTokens) {
  const Tokenizer tokenizer = pocket_tokenizer();
  EXPECT_EQ(tokenizer.vocab_size(), 4096);
  EXPECT_EQ(tokenizer.token_id("[gMASK]"), 4077);
  EXPECT_EQ(tokenizer.encode("[gMASK]<sop>"), (std::vector<int32_t>{4077, 4079}));
  for (int32_t id = 0; id < 4096; ++id) EXPECT_EQ(tokenizer.is_special(id), id >= 4075) << id;
}

TEST(PocketTokenizer, EveryTextComesBackFromItsIds) {
  const Tokenizer tokenizer = pocket_tokenizer();
  const std::vector<std::string> texts = {"The moon is a natural satellite.",
                                          "  indented\n\n\ttext  ",
                                          "na\u00efve caf\u00e9 \u2013 日本語 한국어 😀👨\u200d👩\u200d👧",
                                          "don't DON'T 1234567",
                                          "[gMASK]<sop><|user|>x<|assistant|>",
                                          std::string("nul\0byte", 8),
                                          "\r\n\r\n \u00a0\u3000\u2028"};
  for (const std::string& text : texts) {
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text), false), text);
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text, SpecialText::plain), false), text);
    for (const int32_t id : tokenizer.encode(text, SpecialText::plain))
      EXPECT_FALSE(tokenizer.is_special(id));
  }
}

TEST(PocketTokenizer, TheBytesOfTheIdsAreTheText) {
  const Tokenizer tokenizer = pocket_tokenizer();
  const std::string text = "Spaces \u00e9 and 😀 bytes";
  std::string bytes;
  for (const int32_t id : tokenizer.encode(text)) bytes += tokenizer.token_bytes(id);
  EXPECT_EQ(bytes, text);
}

/// Long texts of one kind, which a quadratic algorithm would take hours for.
TEST(PocketTokenizer, LongTextsOfOneKindComeBack) {
  const Tokenizer tokenizer = pocket_tokenizer();
  const size_t size = 1 << 18;
  for (const std::string unit :
       {"a", " ", "\n", "7", "😀", "ab", " \n", "<|", "e\u0301\u0323", "你", "<|user|>", "\xff", "'s"}) {
    std::string text;
    while (text.size() < size) text += unit;
    const std::vector<int32_t> ids = tokenizer.encode(text);
    if (unit == "\xff") text.clear();
    while (unit == "\xff" && text.size() < 3 * size) text += "\ufffd";
    EXPECT_TRUE(tokenizer.decode(ids, false) == text) << unit;
  }
}

TEST(Bpe, TheWorkOnAWordGrowsWithItsLength) {
  Vocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string name = spell_bytes(std::string(1, static_cast<char>(byte)));
    ASSERT_TRUE(vocabulary.add(name, byte, Vocabulary::Kind::model).ok());
  }
  std::string token = "a";
  for (int id = 256; id < 264; ++id)
    ASSERT_TRUE(vocabulary.add(token += token, id, Vocabulary::Kind::model).ok());
  Result<Bpe> bpe = Bpe::create(vocabulary, false, 8);
  ASSERT_TRUE(bpe.ok());
  for (token = "a"; token.size() < 256; token += token)
    ASSERT_TRUE(bpe->add_merge(vocabulary, token, token).ok());

  for (const size_t length : {1000u, 10'000u, 100'000u}) {
    Bpe::Scratch scratch;
    std::vector<int32_t> ids;
    bpe->encode(vocabulary, std::string(length, 'a'), scratch, ids);
    EXPECT_LT(scratch.steps,
              static_cast<int64_t>(4 * length));  // each symbol is looked at with each neighbour
    EXPECT_EQ(ids.size(), length / 256 + static_cast<size_t>(__builtin_popcountll(length % 256)));
  }
}

}  // namespace
}  // namespace indexshare
