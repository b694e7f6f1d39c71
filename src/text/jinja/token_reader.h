// Reading tokens one after another, for the parsers of expressions and statements.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/jinja/ast.h"
#include "text/jinja/lexer.h"

namespace indexshare::jinja {

class TokenReader {
 protected:
  using Type = Token::Type;
  using Words = std::initializer_list<std::string_view>;

  explicit TokenReader(std::string_view source);

  /// Counts the nesting of the parsers' own calls.
  class Nesting {
   public:
    explicit Nesting(TokenReader& reader);
    ~Nesting() { --reader_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    TokenReader& reader_;
  };

  [[noreturn]] void fail(std::string message) const { fail_at(current().line, std::move(message)); }
  [[noreturn]] static void fail_at(int line, std::string message) { throw Failure{std::move(message), line}; }

  const Token& current() const { return tokens_[position_]; }
  const Token& ahead() const { return tokens_[std::min(position_ + 1, tokens_.size() - 1)]; }
  const Token& next() { return tokens_[position_ + 1 < tokens_.size() ? position_++ : position_]; }
  bool is(Type type) const { return current().type == type; }
  static bool is_symbol(const Token& token, std::string_view text) {
    return token.type == Type::symbol && token.text == text;
  }
  static bool is_word(const Token& token, std::string_view text) {
    return token.type == Type::name && token.text == text;
  }
  bool is_symbol(std::string_view text) const { return is_symbol(current(), text); }
  bool is_word(std::string_view text) const { return is_word(current(), text); }
  bool is_any_word(Words words) const;
  bool accept_symbol(std::string_view text) { return is_symbol(text) && (next(), true); }
  bool accept_word(std::string_view text) { return is_word(text) && (next(), true); }

  static std::string describe(const Token& token);

  const Token& expect(Type type, std::string_view what);
  void expect_symbol(std::string_view text);
  void expect_word(std::string_view text);
  std::string expect_name() { return expect(Type::name, "a name").text; }

  /// The number of a name.
  Symbol symbol(const std::string& name);
  /// All names, by their number.
  std::vector<std::string> take_names() { return std::move(names_); }

 private:
  std::vector<Token> tokens_;
  size_t position_ = 0;
  int depth_ = 0;
  std::vector<std::string> names_;  // by Symbol
  std::unordered_map<std::string, Symbol> symbols_;
};

}  // namespace indexshare::jinja
