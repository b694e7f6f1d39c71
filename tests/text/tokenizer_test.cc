// The tokenizer component by component, on small documents. Ids are those of the reference (Hugging Face
// tokenizers 0.23), or follow from its documentation where a test says so.
#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "text/regex.h"
#include "text/tiny_tokenizer.h"

namespace indexshare {
namespace {

using nlohmann::json;
using testing::added_token;
using testing::load_error;
using testing::make_tokenizer;
using testing::split_by;
using testing::tiny_document;
using Ids = std::vector<int32_t>;
using Words = std::vector<std::string>;

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// The words a tokenizer splits `text` into, seen through a vocabulary in which every word is one token.
Words words_of(json document, const std::string& text, const Words& vocabulary) {
  json& vocab = document["model"]["vocab"];
  for (const std::string& word : vocabulary) vocab.emplace(spell_bytes(word), static_cast<int>(vocab.size()));
  document["model"]["ignore_merges"] = true;
  const Tokenizer tokenizer = make_tokenizer(document);
  Words words;
  for (const int32_t id : tokenizer.encode(text)) words.emplace_back(tokenizer.token_bytes(id));
  return words;
}

std::string decode(const Tokenizer& tokenizer, const Ids& ids, bool skip_special = false) {
  return tokenizer.decode(ids, skip_special);
}

// --- Byte-pair encoding

TEST(Tokenizer, MergesByRankThenFromTheLeft) {
  const Tokenizer tokenizer =
      make_tokenizer(tiny_document({{"b", "c"}, {"a", "b"}, {"a", "a"}, {"aa", "a"}}));
  EXPECT_EQ(tokenizer.encode("abc"), (Ids{'a', 256}));   // "bc" was learnt before "ab"
  EXPECT_EQ(tokenizer.encode("aaaa"), (Ids{258, 258}));  // both "aa", not "aaa" and "a"
  EXPECT_EQ(tokenizer.encode("aaa"), (Ids{259}));        // the left "aa" first, then "aaa"
  EXPECT_EQ(tokenizer.encode("aab"), (Ids{'a', 257}));   // "ab" before "aa"
  EXPECT_EQ(tokenizer.encode(""), Ids{});
}

TEST(Tokenizer, ReadsBothSpellingsOfMerges) {
  json document = tiny_document({{"a", "b"}, {" ", "ab"}});
  const Ids expected = make_tokenizer(document).encode(" ab ab");
  document["model"]["merges"] = {"a b", "\u0120 ab"};
  EXPECT_EQ(make_tokenizer(document).encode(" ab ab"), expected);
  EXPECT_EQ(expected, (Ids{257, 257}));
}

TEST(Tokenizer, APairLearntTwiceHasTheLaterRank) {
  json document = tiny_document({{"a", "b"}, {"b", "c"}});
  EXPECT_EQ(make_tokenizer(document).encode("abc"), (Ids{256, 'c'}));
  document["model"]["merges"].push_back({"a", "b"});
  EXPECT_EQ(make_tokenizer(document).encode("abc"), (Ids{'a', 257}));
}

TEST(Tokenizer, IgnoreMergesTakesAWholeWordThatIsAToken) {
  json document = tiny_document({{"a", "b"}});
  document["model"]["vocab"]["cab"] = 257;
  EXPECT_EQ(make_tokenizer(document).encode("cab"), (Ids{'c', 256}));
  document["model"]["ignore_merges"] = true;
  EXPECT_EQ(make_tokenizer(document).encode("cab"), (Ids{257}));
  EXPECT_EQ(make_tokenizer(document).encode("cabs"), (Ids{'c', 256, 's'}));
}

TEST(Tokenizer, IgnoreMergesNeverMakesAnAddedToken) {
  json document = tiny_document();
  document["model"]["ignore_merges"] = true;
  document["added_tokens"].push_back(added_token(256, "<end>", {{"special", true}}));
  const Tokenizer tokenizer = make_tokenizer(document);
  EXPECT_EQ(tokenizer.encode("<end>", SpecialText::plain), (Ids{'<', 'e', 'n', 'd', '>'}));
}

// --- Text that is not UTF-8, bytes that are none

TEST(Tokenizer, InvalidPartsOfTheTextCountAsReplacementCharacters) {
  const Tokenizer tokenizer = make_tokenizer(tiny_document());
  EXPECT_EQ(tokenizer.encode("a\xff"
                             "b"),
            tokenizer.encode("a\ufffdb"));
  EXPECT_EQ(tokenizer.encode("\xf0\x9f\x98"), tokenizer.encode("\ufffd"));
  EXPECT_EQ(tokenizer.encode("\xed\xa0\x80"), tokenizer.encode("\ufffd\ufffd\ufffd"));  // a surrogate
}

TEST(Tokenizer, DecodesBytesThatAreNoUtf8AsReplacementCharacters) {
  const Tokenizer tokenizer = make_tokenizer(tiny_document());
  EXPECT_EQ(decode(tokenizer, {0xf0, 0x9f, 0x98, 0x80}), "\U0001f600");
  EXPECT_EQ(decode(tokenizer, {0xf0, 0x9f, 0x98, 'a'}), "\ufffda");
  EXPECT_EQ(decode(tokenizer, {0xe0, 0x80, 0xc3}), "\ufffd\ufffd\ufffd");
  EXPECT_EQ(decode(tokenizer, {'a', -1, 256, 1 << 30, 'b'}), "ab");  // ids without a token
}

TEST(Tokenizer, ANameOutsideTheAlphabetStandsForItself) {
  json document = tiny_document();
  document["added_tokens"] = {added_token(256, "日本"), added_token(257, "é\u0120")};
  const Tokenizer tokenizer = make_tokenizer(document);
  EXPECT_EQ(tokenizer.token_bytes(256), "日本");
  EXPECT_EQ(tokenizer.token_bytes(257),
            "\xe9 ");  // every letter is of the alphabet: as the reference decodes it
  EXPECT_EQ(tokenizer.token_bytes(258), "");
  EXPECT_EQ(tokenizer.token_id("日本"), 256);
  EXPECT_EQ(tokenizer.token_id("\u0120"), ' ');
  EXPECT_EQ(tokenizer.token_id("nothing"), std::nullopt);
  EXPECT_EQ(tokenizer.token_id("\xff"), std::nullopt);
  EXPECT_EQ(tokenizer.vocab_size(), 258);
}

// --- Added tokens

TEST(Tokenizer, FindsTheLongestAddedTokenFurthestLeft) {
  json document = tiny_document();
  document["added_tokens"] = {added_token(256, "<s"), added_token(257, "<s>"), added_token(258, "s>x")};
  const Tokenizer tokenizer = make_tokenizer(document);
  EXPECT_EQ(tokenizer.encode("<s>x<s<"), (Ids{257, 'x', 256, '<'}));
  EXPECT_EQ(tokenizer.encode("s>x"), (Ids{258}));
}

TEST(Tokenizer, PlainTextHasNoSpecialTokens) {
  json document = tiny_document();
  document["added_tokens"] = {added_token(256, "<|a|>", {{"special", true}}), added_token(257, "<b>")};
  const Tokenizer tokenizer = make_tokenizer(document);
  EXPECT_EQ(tokenizer.encode("<|a|><b>"), (Ids{256, 257}));
  EXPECT_EQ(tokenizer.encode("<|a|><b>", SpecialText::plain), (Ids{'<', '|', 'a', '|', '>', 257}));
  EXPECT_TRUE(tokenizer.is_special(256));
  EXPECT_FALSE(tokenizer.is_special(257));
  EXPECT_FALSE(tokenizer.is_special(-1));
  EXPECT_FALSE(tokenizer.is_special(258));
  EXPECT_EQ(decode(tokenizer, {256, 257, 'x'}, false), "<|a|><b>x");
  EXPECT_EQ(decode(tokenizer, {256, 257, 'x'}, true), "<b>x");
}

TEST(Tokenizer, StripsWhiteSpaceAroundAddedTokens) {
  json document = tiny_document();
  document["added_tokens"] = {added_token(256, "<l>", {{"lstrip", true}}),
                              added_token(257, "<r>", {{"rstrip", true}}),
                              added_token(258, "\u2003", {{"lstrip", true}, {"rstrip", true}})};
  const Tokenizer tokenizer = make_tokenizer(document);
  EXPECT_EQ(tokenizer.encode("a \n<l> b"), (Ids{'a', 256, ' ', 'b'}));
  EXPECT_EQ(tokenizer.encode("a <r>\u3000\tb"), (Ids{'a', ' ', 257, 'b'}));
  EXPECT_EQ(tokenizer.encode("<r>  <l>"), (Ids{257, 256}));
  EXPECT_EQ(tokenizer.encode(" \u2003\u2003 \u2003"), (Ids{258}));
}

TEST(Tokenizer, ASingleWordTokenNeedsABoundaryOnBothSides) {
  json document = tiny_document();
  document["added_tokens"] = json::array({added_token(256, "ab", {{"single_word", true}})});
  const Tokenizer tokenizer = make_tokenizer(document);
  EXPECT_EQ(tokenizer.encode("ab ab-ab"), (Ids{256, ' ', 256, '-', 256}));
  for (const std::string text :
       {"xab", "abx", "1ab", "ab_", "éab", "ab\u0301", "ab\u24b6", "ab\U000105c0", "\u200dab"}) {
    const Ids ids = tokenizer.encode(text);
    EXPECT_EQ(std::count(ids.begin(), ids.end(), 256), 0) << text;
  }
}

TEST(Tokenizer, ANormalizedTokenIsFoundInTheNormalizedText) {
  json document = tiny_document();
  document["normalizer"] = {{"type", "NFC"}};
  document["added_tokens"] = {added_token(256, "e\u0301", {{"normalized", true}}),
                              added_token(257, "a\u0301")};
  const Tokenizer tokenizer = make_tokenizer(document);
  EXPECT_EQ(tokenizer.encode("\u00e9"), (Ids{256}));
  EXPECT_EQ(tokenizer.encode("e\u0301"), (Ids{256}));
  EXPECT_EQ(tokenizer.encode("a\u0301"), (Ids{257}));
  EXPECT_EQ(tokenizer.encode("\u00e1"), (Ids{0xc3, 0xa1}));
}

// --- Normalizers

std::string normalized(const json& normalizer, const std::string& text) {
  json document = tiny_document();
  document["normalizer"] = normalizer;
  const Tokenizer tokenizer = make_tokenizer(document);
  return tokenizer.decode(tokenizer.encode(text), false);
}

TEST(Normalizer, KnowsTheFourForms) {
  const std::string text = "\u00e9 e\u0301 \ufb01 \uac01 \u1112\u1161\u11ab";
  EXPECT_EQ(normalized({{"type", "NFC"}}, text), "\u00e9 \u00e9 \ufb01 \uac01 \ud55c");
  EXPECT_EQ(normalized({{"type", "NFD"}}, text),
            "e\u0301 e\u0301 \ufb01 \u1100\u1161\u11a8 \u1112\u1161\u11ab");
  EXPECT_EQ(normalized({{"type", "NFKC"}}, text), "\u00e9 \u00e9 fi \uac01 \ud55c");
  EXPECT_EQ(normalized({{"type", "NFKD"}}, text), "e\u0301 e\u0301 fi \u1100\u1161\u11a8 \u1112\u1161\u11ab");
  EXPECT_EQ(normalized(nullptr, text), text);
}

TEST(Normalizer, OrdersMarksAndComposesAcrossThem) {
  EXPECT_EQ(normalized({{"type", "NFC"}}, "a\u0301\u0323"), "\u1ea1\u0301");
  EXPECT_EQ(normalized({{"type", "NFD"}}, "\u1e69"), "s\u0323\u0307");
}

TEST(Normalizer, LeavesAloneWhatIsNewerThanTheReference) {
  EXPECT_EQ(normalized({{"type", "NFKC"}}, "\u32ff"), "\u32ff");                             // Unicode 12.1
  EXPECT_EQ(normalized({{"type", "NFC"}}, "\U00011935\U00011930"), "\U00011935\U00011930");  // 13
}

TEST(Normalizer, AppliesASequenceInOrder) {
  const json sequence = {{"type", "Sequence"},
                         {"normalizers",
                          {{{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}},
                           {{"type", "Prepend"}, {"prepend", "_"}},
                           {{"type", "Replace"}, {"pattern", {{"Regex", "\\s+"}}}, {"content", "_"}},
                           {{"type", "Replace"}, {"pattern", {{"String", "a."}}}, {"content", ""}}}}};
  EXPECT_EQ(normalized(sequence, " \u3000x \n ya.ab\t"), "_x_yab");
  EXPECT_EQ(normalized(sequence, "  "), "");  // there is nothing to prepend to
}

// --- Pre-tokenizers

TEST(PreTokenizer, EachBehaviorJoinsMatchesItsWay) {
  const std::string text = "a--b-";
  const Words vocabulary = {"a-", "-b", "--", "-b-", "a--"};
  const auto words = [&](std::string_view behavior, bool invert) {
    json document = tiny_document();
    document["pre_tokenizer"] = split_by({{"String", "-"}}, behavior, invert);
    return words_of(document, text, vocabulary);
  };
  EXPECT_EQ(words("Removed", false), (Words{"a", "b"}));
  EXPECT_EQ(words("Removed", true), (Words{"-", "-", "-"}));
  EXPECT_EQ(words("Isolated", false), (Words{"a", "-", "-", "b", "-"}));
  EXPECT_EQ(words("Contiguous", false), (Words{"a", "--", "b", "-"}));
  EXPECT_EQ(words("MergedWithPrevious", false), (Words{"a-", "-", "b", "-"}));
  EXPECT_EQ(words("MergedWithNext", false), (Words{"a", "-", "-b", "-"}));
}

TEST(PreTokenizer, SplitsEachPieceOfTheStepBefore) {
  json document = tiny_document();
  const json by_space = {
      {"type", "Split"}, {"pattern", {{"String", " "}}}, {"behavior", "Removed"}, {"invert", false}};
  const json first_letter = {
      {"type", "Split"}, {"pattern", {{"Regex", "\\A."}}}, {"behavior", "Isolated"}, {"invert", false}};
  document["pre_tokenizer"] = {{"type", "Sequence"},
                               {"pretokenizers", {by_space, first_letter, document["pre_tokenizer"]}}};
  EXPECT_EQ(words_of(document, "abc def", {"abc", "def", "bc", "ef"}), (Words{"a", "bc", "d", "ef"}));
}

TEST(PreTokenizer, DigitsAreSplitOneByOneOrInRuns) {
  json document = tiny_document();
  json digits = {{"type", "Digits"}, {"individual_digits", true}};
  document["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", {digits, document["pre_tokenizer"]}}};
  EXPECT_EQ(words_of(document, "ab12", {"ab", "12"}), (Words{"ab", "1", "2"}));
  document["pre_tokenizer"]["pretokenizers"][0]["individual_digits"] = false;
  EXPECT_EQ(words_of(document, "ab12", {"ab", "12"}), (Words{"ab", "12"}));
}

TEST(PreTokenizer, ByteLevelMayPrefixASpaceAndSplitAsGpt2) {
  json document = tiny_document();
  document["pre_tokenizer"]["add_prefix_space"] = true;
  document["pre_tokenizer"]["use_regex"] = true;
  const Words vocabulary = {" it", "'s", " 12", "ab", " !?", "  ", " x"};
  EXPECT_EQ(words_of(document, "it's 12ab !?   x", vocabulary),
            (Words{" it", "'s", " 12", "ab", " !?", "  ", " x"}));
}

// --- Regular expressions

std::vector<std::string> found(std::string_view pattern, std::string_view text) {
  const Result<Regex> regex = Regex::compile(pattern, "pattern");
  if (!regex) return {regex.error().message};
  std::vector<Span> matches;
  regex->find_all(text, matches);
  std::vector<std::string> result;
  for (const Span& match : matches) result.emplace_back(text.substr(match.begin, match.end - match.begin));
  return result;
}

TEST(Regex, KnowsLettersNewerThanTheInstalledLibraryDoes) {
  EXPECT_EQ(found("\\p{L}+", "a\U00031350\U000323af!"), Words{"a\U00031350\U000323af"});  // Unicode 15
  EXPECT_EQ(found("\\p{L}+", "\u1c89\u1c8a"), Words{"\u1c89\u1c8a"});                     // 16
  EXPECT_EQ(found("\\p{Lu}", "\u1c89\u1c8a"), Words{"\u1c89"});
  EXPECT_EQ(found("\\p{Cn}", "\u0378\U0010ffff\ue000"), (Words{"\u0378", "\U0010ffff"}));
  EXPECT_EQ(found("\\s", "\u180e\u3000\u200b"), Words{"\u3000"});
}

TEST(Regex, AStandInNeverFallsIntoARangeThatThePatternNames) {
  // U+31350 must be seen as a letter outside the named range, U+2B739 (Unicode 15) as one inside.
  EXPECT_EQ(found("[\\x{2a700}-\\x{2b73f}]+", "\U00031350\U0002b739"), Words{"\U0002b739"});
  EXPECT_EQ(found("[\\x{3400}-\\x{9fff}]+", "\u1c89\u4e00"), Words{"\u4e00"});
  EXPECT_EQ(found("[^\\x{800}-\\x{ffff}]+", "a\u1c89b"), (Words{"a", "b"}));
}

TEST(Regex, AnEmptyMatchBehindAMatchIsPassedOver) {
  const Result<Regex> regex = Regex::compile("x*", "pattern");
  ASSERT_TRUE(regex.ok());
  std::vector<Span> matches;
  regex->find_all("axxb", matches);
  EXPECT_EQ(matches, (std::vector<Span>{{0, 0}, {1, 3}, {4, 4}}));
}

TEST(Regex, IgnoringCaseIncludesTheLongS) {
  EXPECT_EQ(found("(?i:'s)", "'S'\u017f't"), (Words{"'S", "'\u017f"}));
}

TEST(Regex, LineAnchorsAreOfEachLine) {
  EXPECT_EQ(found("^.", "ab\ncd\n"), (Words{"a", "c"}));
}

TEST(Regex, RefusesWhatPcre2WouldTakeInAnotherSense) {
  for (const std::string_view pattern :
       {"\\w+",  "\\h",     "\\bx",   "[a[b]]", "[a&&b]",  "[[:alpha:]]", "\\p{Han}",     "\\p{Alphabetic}",
        "\\pL",  "(?m).",   "(?s).",  "(?i)a",  "a{2}?",   "a{1,2}+",     "a{,2}",        "a**",
        "(?#x)", "(?<n>a)", "(a)\\1", "\\x41",  "\\u0041", "(?i:ss)",     "(?i:\\p{Lu})", "(?i:é)",
        "(a",    "a)",      "[a",     "[]a]",   "*",       "\\",          "\\x{110000}",  "\\x{d800}",
        "[z-a]", "]",       "(*F)"}) {
    const Result<Regex> regex = Regex::compile(pattern, "here");
    ASSERT_FALSE(regex.ok()) << pattern;
    EXPECT_TRUE(contains(regex.error().message, "here: the pattern")) << regex.error().message;
  }
}

TEST(Regex, KnowsThePatternsOfGlm) {
  const std::string text = "I'VE 12345 don't\r\n\n  x!?\n";
  const Words expected = {"I", "'VE", " ", "123", "45", " don", "'t", "\r\n\n", " ", " x", "!?\n"};
  EXPECT_EQ(found("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
                  "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
                  "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
                  text),
            expected);
  EXPECT_EQ(found("(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"
                  "\\p{N}{1,3}|"
                  " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
                  text),
            expected);
}

TEST(Regex, APatternThatBacktracksWithoutEndFindsNothingMore) {
  EXPECT_EQ(found("b|(?:a|a?)+c", "b" + std::string(5000, 'a')), Words{"b"});
}

// --- Errors

TEST(TokenizerErrors, NameTheFileAndThePlace) {
  const auto error_with = [](const json& patch) {
    json document = tiny_document();
    document.merge_patch(patch);
    return load_error(document);
  };
  const json byte_level = tiny_document()["pre_tokenizer"];
  EXPECT_EQ(error_with({{"model", {{"type", "Unigram"}}}}),
            "tokenizer.json: model.type is \"Unigram\", expected \"BPE\"");
  EXPECT_TRUE(contains(error_with({{"model", {{"dropout", 0.1}}}}), "model.dropout is set"));
  EXPECT_EQ(error_with({{"model", {{"dropout", 0.0}}}}), "");
  EXPECT_TRUE(contains(error_with({{"model", {{"end_of_word_suffix", "</w>"}}}}),
                       "model.end_of_word_suffix is \"</w>\""));
  EXPECT_TRUE(
      contains(error_with({{"model", {{"vocab", "x"}}}}), "model.vocab is a string, expected an object"));
  EXPECT_TRUE(
      contains(error_with({{"model", {{"vocab", {{"zz", -1}}}}}}), "\"zz\" has the id -1, expected 0 to"));
  EXPECT_TRUE(
      contains(error_with({{"model", {{"vocab", {{"zz", 65}}}}}}), "\"A\" and \"zz\" have the same id 65"));
  EXPECT_TRUE(contains(error_with({{"model", {{"vocab", {{"zz", 1.5}}}}}}),
                       "the id of the token \"zz\" is no integer"));
  EXPECT_TRUE(contains(error_with({{"model", {{"vocab", {{"A", nullptr}}}}}}), "no token for the byte 0x41"));
  EXPECT_TRUE(contains(error_with({{"model", {{"merges", json::array({"a"})}}}}),
                       "model.merges[0] is no pair of tokens"));
  EXPECT_TRUE(contains(error_with({{"model", {{"merges", json::array({json::array({"a", "b"})})}}}}),
                       "model.merges[0]: the merge of \"a\" and \"b\""));
  EXPECT_TRUE(contains(error_with({{"normalizer", {{"type", "Nmt"}}}}),
                       "normalizer.type is \"Nmt\", which is not supported"));
  EXPECT_TRUE(contains(error_with({{"pre_tokenizer", nullptr}}), "lacks the field \"pre_tokenizer\""));
  EXPECT_TRUE(contains(error_with({{"decoder", {{"type", "WordPiece"}}}}), "decoder.type is \"WordPiece\""));
  EXPECT_TRUE(contains(error_with({{"post_processor", {{"type", "X"}}}}), "post_processor.type is \"X\""));
  EXPECT_TRUE(contains(error_with({{"version", "2.0"}}), "version is \"2.0\""));
  EXPECT_TRUE(contains(
      error_with({{"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", {byte_level, byte_level}}}}}),
      "pre_tokenizer.pretokenizers[1] follows ByteLevel"));
  EXPECT_TRUE(contains(
      error_with({{"pre_tokenizer",
                   {{"type", "Sequence"}, {"pretokenizers", {{{"type", "Metaspace"}}, byte_level}}}}}),
      "pre_tokenizer.pretokenizers[0].type is \"Metaspace\""));
  EXPECT_TRUE(contains(error_with({{"pre_tokenizer", split_by({{"Regex", "\\w"}})}}),
                       "pre_tokenizer.pretokenizers[0].pattern.Regex: the pattern \"\\w\" has an escape"));
  EXPECT_TRUE(contains(
      error_with({{"normalizer", {{"type", "Replace"}, {"pattern", {{"Regex", "x*"}}}, {"content", ""}}}}),
      "normalizer.pattern may match nothing"));
}

TEST(TokenizerErrors, AddedTokensMustFitTheVocabulary) {
  const auto error_with = [](const json& tokens) {
    json document = tiny_document();
    document["added_tokens"] = tokens;
    return load_error(document);
  };
  EXPECT_TRUE(contains(error_with(json::array({added_token(300, "A")})),
                       "added_tokens[0]: the token \"A\" has two ids, 65 and 300"));
  EXPECT_TRUE(contains(error_with(json::array({added_token(65, "<x>")})),
                       "the tokens \"A\" and \"<x>\" have the same id 65"));
  EXPECT_TRUE(
      contains(error_with(json::array({added_token(256, "x"), added_token(256, "x")})), "added_tokens[0]"));
  EXPECT_TRUE(contains(error_with(json::array({added_token(256, "<x>"), added_token(256, "<x>")})),
                       "added_tokens[1] repeats \"<x>\""));
  EXPECT_TRUE(contains(error_with(json::array({added_token(256, "")})), "added_tokens[0].content is empty"));
  EXPECT_TRUE(contains(error_with(json::array({added_token(1 << 30, "<x>")})),
                       "added_tokens[0].id is 1073741824, expected 0 to"));
  EXPECT_TRUE(
      contains(error_with(json::array({{{"id", 256}}})), "added_tokens[0] lacks the field \"content\""));
}

TEST(TokenizerErrors, AFileThatCannotBeReadOrIsNoJson) {
  const Result<Tokenizer> missing = Tokenizer::load("no/such/tokenizer.json");
  ASSERT_FALSE(missing.ok());
  EXPECT_TRUE(contains(missing.error().message, "no/such/tokenizer.json"));
  const Result<Tokenizer> damaged = Tokenizer::parse("{\"model\": ", "damaged.json");
  ASSERT_FALSE(damaged.ok());
  EXPECT_TRUE(contains(damaged.error().message, "damaged.json is not valid JSON"));
}

}  // namespace
}  // namespace indexshare
