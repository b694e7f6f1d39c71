// Reads a tokenizer.json (Hugging Face's format): checks everything, builds the parts of a Tokenizer.
#pragma once

#include <string_view>
#include <vector>

#include "indexshare/result.h"
#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/normalizer.h"
#include "text/pre_tokenizer.h"
#include "text/vocabulary.h"

namespace indexshare {

struct TokenizerParts {
  Vocabulary vocabulary;  // of the model, and the added tokens
  Bpe bpe;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  AddedTokenFinder verbatim_tokens;    // found before normalization
  AddedTokenFinder normalized_tokens;  // found after it
  Regex word_character;                // what AddedToken::single_word asks about
  std::vector<bool> is_special;        // by id
};

/// `source` names the text in errors ("tokenizer.json").
Result<TokenizerParts> parse_tokenizer_json(std::string_view json, std::string_view source);

}  // namespace indexshare
