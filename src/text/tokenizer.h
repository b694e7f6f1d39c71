// Text to token ids and back: byte-level byte-pair encoding as a tokenizer.json describes it, with the
// same ids as the reference (Hugging Face's `tokenizers`).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "indexshare/result.h"

namespace indexshare {

struct TokenizerParts;

/// What becomes of the text of a special token ("<|user|>") inside the text to encode.
enum class SpecialText : uint8_t {
  parse,  // it is that token
  plain,  // it is text like any other: for what a user wrote. Added tokens that are not special stay tokens
};

/// Immutable; const use from several threads is fine.
///
/// Supported: byte-level BPE with the components named in tokenizer_components.cc; whatever else a file
/// asks for is an error at load. Left out on purpose: post-processors (no token is ever added around a
/// text), truncation and padding (the engine's own business).
class Tokenizer {
 public:
  static Result<Tokenizer> load(const std::filesystem::path& tokenizer_json);

  /// `source` names the text in errors.
  static Result<Tokenizer> parse(std::string_view json, std::string_view source);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  /// The ids of `text`. Where it is not UTF-8, each invalid part counts as U+FFFD. Takes time in
  /// proportion to n log n whatever the text is.
  std::vector<int32_t> encode(std::string_view text, SpecialText special = SpecialText::parse) const;

  /// The text of `ids`; bytes that do not make up UTF-8 become U+FFFD, ids without a token nothing.
  /// `skip_special`: special tokens become nothing.
  std::string decode(std::span<const int32_t> ids, bool skip_special) const;

  /// The bytes that a token stands for: perhaps part of a character. Empty for an id without a token.
  std::string_view token_bytes(int32_t id) const;

  /// The token of this name in tokenizer.json ("<|user|>"; a space is written "\u0120" there).
  std::optional<int32_t> token_id(std::string_view content) const;

  bool is_special(int32_t id) const;

  /// One past the highest id.
  int64_t vocab_size() const;

 private:
  explicit Tokenizer(std::unique_ptr<const TokenizerParts> parts);

  std::unique_ptr<const TokenizerParts> parts_;
};

}  // namespace indexshare
