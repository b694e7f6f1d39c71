#include "text/tokenizer.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "text/tokenizer_json.h"
#include "text/utf8.h"

namespace indexshare {

namespace {

constexpr int64_t kMaxFile = int64_t{1} << 30;
constexpr size_t kMaxWord = size_t{1} << 30;  // longer ones are encoded in parts of this size

/// Collects the ids of the pieces of one text.
class Encoder {
 public:
  Encoder(const TokenizerParts& parts, SpecialText special)
      : parts_(parts), skip_special_(special == SpecialText::plain) {}

  std::vector<int32_t> run(std::string_view text) {
    std::vector<TextPiece> pieces;
    parts_.verbatim_tokens.split(text, skip_special_, parts_.word_character, pieces);
    for (const TextPiece& piece : pieces) {
      if (piece.id != TextPiece::kText) {
        ids_.push_back(piece.id);
      } else if (parts_.normalizer.is_empty()) {
        add_normalized(piece.text);
      } else {
        add_normalized(parts_.normalizer.apply(piece.text));
      }
    }
    return std::move(ids_);
  }

 private:
  void add_normalized(std::string_view text) {
    std::vector<TextPiece> pieces;
    parts_.normalized_tokens.split(text, skip_special_, parts_.word_character, pieces);
    for (const TextPiece& piece : pieces) {
      if (piece.id != TextPiece::kText) {
        ids_.push_back(piece.id);
      } else {
        parts_.pre_tokenizer.for_each_word(piece.text, [this](std::string_view word) { add_word(word); });
      }
    }
  }

  void add_word(std::string_view word) {
    for (; !word.empty(); word.remove_prefix(std::min(word.size(), kMaxWord))) {
      parts_.bpe.encode(parts_.vocabulary, word.substr(0, kMaxWord), scratch_, ids_);
    }
  }

  const TokenizerParts& parts_;
  bool skip_special_;
  Bpe::Scratch scratch_;
  std::vector<int32_t> ids_;
};

}  // namespace

Tokenizer::Tokenizer(std::unique_ptr<const TokenizerParts> parts) : parts_(std::move(parts)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<Tokenizer> Tokenizer::load(const std::filesystem::path& tokenizer_json) {
  ASSIGN_OR_RETURN(const std::string text, read_file(tokenizer_json, kMaxFile));
  return parse(text, tokenizer_json.string());
}

Result<Tokenizer> Tokenizer::parse(std::string_view json, std::string_view source) {
  ASSIGN_OR_RETURN(TokenizerParts parts, parse_tokenizer_json(json, source));
  return Tokenizer(std::make_unique<const TokenizerParts>(std::move(parts)));
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, SpecialText special) const {
  Encoder encoder(*parts_, special);
  if (is_utf8(text)) return encoder.run(text);
  std::string repaired;
  append_repaired(text, repaired);
  return encoder.run(repaired);
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skip_special) const {
  std::string bytes;
  for (const int32_t id : ids) {
    if (!skip_special || !is_special(id)) bytes += token_bytes(id);
  }
  if (is_utf8(bytes)) return bytes;
  std::string text;
  append_repaired(bytes, text);
  return text;
}

std::string_view Tokenizer::token_bytes(int32_t id) const {
  return parts_->vocabulary.bytes(id);
}

std::optional<int32_t> Tokenizer::token_id(std::string_view content) const {
  return is_utf8(content) ? parts_->vocabulary.find(content) : std::nullopt;
}

bool Tokenizer::is_special(int32_t id) const {
  return parts_->vocabulary.contains(id) && parts_->is_special[static_cast<size_t>(id)];
}

int64_t Tokenizer::vocab_size() const {
  return parts_->vocabulary.size();
}

}  // namespace indexshare
