// Streaming gives what decoding the whole gives, character by character, whatever the ids are.
#include "text/stream_decoder.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "text/tiny_tokenizer.h"
#include "text/utf8.h"

namespace indexshare {
namespace {

using testing::added_token;
using testing::make_tokenizer;
using testing::tiny_document;

std::string stream(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, bool skip_special = false) {
  StreamDecoder decoder(tokenizer, skip_special);
  std::string text;
  for (const int32_t id : ids) {
    const std::string piece = decoder.push(id);
    EXPECT_TRUE(is_utf8(piece));
    text += piece;
  }
  return text + decoder.flush();
}

TEST(StreamDecoder, HoldsACharacterBackUntilItIsWhole) {
  const Tokenizer tokenizer = make_tokenizer(tiny_document());
  StreamDecoder decoder(tokenizer);
  EXPECT_EQ(decoder.push('a'), "a");
  EXPECT_EQ(decoder.push(0xf0), "");
  EXPECT_EQ(decoder.push(0x9f), "");
  EXPECT_EQ(decoder.push(0x98), "");
  EXPECT_EQ(decoder.push(0x80), "\U0001f600");
  EXPECT_EQ(decoder.flush(), "");
}

TEST(StreamDecoder, ReplacesWhatCannotBecomeACharacterAtOnce) {
  const Tokenizer tokenizer = make_tokenizer(tiny_document());
  StreamDecoder decoder(tokenizer);
  EXPECT_EQ(decoder.push(0xe0), "");
  EXPECT_EQ(decoder.push(0x80), "\ufffd\ufffd");  // no character begins with these two
  EXPECT_EQ(decoder.push(0xc3), "");
  EXPECT_EQ(decoder.push('x'), "\ufffdx");
  EXPECT_EQ(decoder.push(0xf0), "");
  EXPECT_EQ(decoder.push(0x9f), "");
  EXPECT_EQ(decoder.flush(), "\ufffd");
  EXPECT_EQ(decoder.push('y'), "y");
}

TEST(StreamDecoder, EverySplitOfATextIntoTokensGivesTheText) {
  const std::string text = "a\u00e9\u20ac\U0001f600";  // 1 + 2 + 3 + 4 bytes
  nlohmann::json document = tiny_document();
  for (size_t begin = 0; begin < text.size(); ++begin) {
    for (size_t end = begin + 2; end <= text.size(); ++end) {
      const int id = static_cast<int>(document["model"]["vocab"].size());
      document["model"]["vocab"].emplace(spell_bytes(text.substr(begin, end - begin)), id);
    }
  }
  const Tokenizer tokenizer = make_tokenizer(document);
  for (unsigned cuts = 0; cuts < 1u << (text.size() - 1); ++cuts) {  // bit i: a token ends behind byte i
    std::vector<int32_t> ids;
    for (size_t begin = 0, end = 1; end <= text.size(); ++end) {
      if (end < text.size() && (cuts >> (end - 1) & 1) == 0) continue;
      ids.push_back(*tokenizer.token_id(spell_bytes(text.substr(begin, end - begin))));
      begin = end;
    }
    ASSERT_EQ(stream(tokenizer, ids), text);
  }
}

TEST(StreamDecoder, AgreesWithDecodeOnAnyIds) {
  nlohmann::json document = tiny_document();
  document["added_tokens"] = {added_token(256, "<s>", {{"special", true}}), added_token(257, "日")};
  const Tokenizer tokenizer = make_tokenizer(document);
  std::mt19937 random(1);
  const std::vector<int32_t> likely = {0xe0, 0xed, 0xf0, 0xf4, 0xc2, 0xa0, 0x9f,
                                       0x90, 0x80, 0xbf, 'a',  256,  257,  999};
  for (int i = 0; i < 20'000; ++i) {
    std::vector<int32_t> ids(random() % 12);
    for (int32_t& id : ids)
      id = random() % 4 == 0 ? static_cast<int32_t>(random() % 260) : likely[random() % likely.size()];
    for (const bool skip_special : {false, true}) {
      ASSERT_EQ(stream(tokenizer, ids, skip_special), tokenizer.decode(ids, skip_special));
    }
  }
}

}  // namespace
}  // namespace indexshare
