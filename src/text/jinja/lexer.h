// Splits a template into tokens, applying Jinja's whitespace control with trim_blocks and lstrip_blocks on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/value.h"

namespace indexshare::jinja {

struct Token {
  enum class Type : uint8_t {
    text,
    block_begin,
    block_end,
    variable_begin,
    variable_end,
    name,
    string,
    number,
    symbol,  // an operator or a bracket: `text` is its characters
    end,
  };
  Type type;
  int line;
  std::string text;  // decoded, for a string
  Value number;      // an integer or a float
};

/// Fails (Failure) with the line for text that is no template. The last token is `end`.
std::vector<Token> tokenize(std::string_view source);

}  // namespace indexshare::jinja
