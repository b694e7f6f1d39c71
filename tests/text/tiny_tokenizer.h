// Small tokenizer.json documents for tests: every byte a token, and whatever a test adds.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/byte_level.h"
#include "text/tokenizer.h"

namespace indexshare::testing {

/// A document whose tokens are the 256 bytes (ids as their values) and, from 256 on, what `merges` make.
inline nlohmann::json tiny_document(const std::vector<std::pair<std::string, std::string>>& merges = {}) {
  nlohmann::json vocab = nlohmann::json::object();
  for (int byte = 0; byte < 256; ++byte) vocab[spell_bytes(std::string(1, static_cast<char>(byte)))] = byte;
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [left, right] : merges) {
    const int id = static_cast<int>(vocab.size());
    vocab.emplace(spell_bytes(left + right), id);
    list.push_back({spell_bytes(left), spell_bytes(right)});
  }
  const nlohmann::json byte_level = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
  return {{"version", "1.0"},
          {"added_tokens", nlohmann::json::array()},
          {"normalizer", nullptr},
          {"pre_tokenizer", byte_level},
          {"post_processor", nullptr},
          {"decoder", byte_level},
          {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", list}}}};
}

inline nlohmann::json added_token(int id, std::string_view content, const nlohmann::json& flags = {}) {
  nlohmann::json token = {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
                          {"rstrip", false}, {"normalized", false}, {"special", false}};
  token.update(flags.is_null() ? nlohmann::json::object() : flags);
  return token;
}

/// What a split pre-tokenizer before ByteLevel is written as.
inline nlohmann::json split_by(const nlohmann::json& pattern, std::string_view behavior = "Isolated",
                               bool invert = false) {
  const nlohmann::json split = {
      {"type", "Split"}, {"pattern", pattern}, {"behavior", behavior}, {"invert", invert}};
  return {{"type", "Sequence"}, {"pretokenizers", {split, tiny_document()["pre_tokenizer"]}}};
}

inline Tokenizer make_tokenizer(const nlohmann::json& document) {
  Result<Tokenizer> tokenizer = Tokenizer::parse(document.dump(), "tokenizer.json");
  if (!tokenizer) ADD_FAILURE() << tokenizer.error().message;
  return std::move(tokenizer).value();
}

inline std::string load_error(const nlohmann::json& document) {
  const Result<Tokenizer> tokenizer = Tokenizer::parse(document.dump(), "tokenizer.json");
  return tokenizer ? "" : tokenizer.error().message;
}

}  // namespace indexshare::testing
