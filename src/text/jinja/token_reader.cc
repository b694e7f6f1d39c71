#include "text/jinja/token_reader.h"

#include <algorithm>

#include "base/error.h"
#include "text/jinja/unicode.h"

namespace indexshare::jinja {

TokenReader::TokenReader(std::string_view source) : tokens_(tokenize(source)) {
  for (const char* name : {"loop", "caller", "kwargs", "varargs"}) symbol(name);
}

TokenReader::Nesting::Nesting(TokenReader& reader) : reader_(reader) {
  if (++reader_.depth_ > kMaxSyntaxDepth) {
    reader_.fail(fmt::format("statements or expressions are nested deeper than {} levels", kMaxSyntaxDepth));
  }
}

std::string TokenReader::describe(const Token& token) {
  switch (token.type) {
    case Type::text: return "text";
    case Type::block_begin: return "'{%'";
    case Type::block_end: return "'%}'";
    case Type::variable_begin: return "'{{'";
    case Type::variable_end: return "'}}'";
    case Type::name:
    case Type::symbol: return quote_text(token.text);
    case Type::string: return "a string";
    case Type::number: return "a number";
    case Type::end: return "the end of the template";
  }
  return "";
}

bool TokenReader::is_any_word(Words words) const {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return is_word(word); });
}

const Token& TokenReader::expect(Type type, std::string_view what) {
  if (!is(type)) fail(fmt::format("expected {}, got {}", what, describe(current())));
  return next();
}

void TokenReader::expect_symbol(std::string_view text) {
  if (!accept_symbol(text)) fail(fmt::format("expected '{}', got {}", text, describe(current())));
}

void TokenReader::expect_word(std::string_view text) {
  if (!accept_word(text)) fail(fmt::format("expected '{}', got {}", text, describe(current())));
}

Symbol TokenReader::symbol(const std::string& name) {
  const auto [it, added] = symbols_.emplace(name, static_cast<Symbol>(names_.size()));
  if (added) names_.push_back(name);
  return it->second;
}

}  // namespace indexshare::jinja
