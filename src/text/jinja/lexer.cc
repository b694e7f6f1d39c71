#include "text/jinja/lexer.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/error.h"
#include "text/jinja/numbers.h"
#include "text/jinja/unicode.h"

namespace indexshare::jinja {
namespace {

// Line ends become \n, and one at the end of the template goes.
std::string normalized(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
    } else {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(normalized(source)) {}

  std::vector<Token> run() {
    while (position_ < source_.size()) read_text();
    add(Token::Type::end);
    return std::move(tokens_);
  }

 private:
  enum class Tag : uint8_t { block, variable, comment };

  [[noreturn]] void fail(std::string message) const { throw Failure{std::move(message), line_}; }

  bool at(std::string_view text) const {
    return std::string_view(source_).substr(position_).starts_with(text);
  }
  std::string_view rest() const { return std::string_view(source_).substr(position_); }

  void advance(size_t count) {
    line_ +=
        static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(position_),
                                    source_.begin() + static_cast<std::ptrdiff_t>(position_ + count), '\n'));
    position_ += count;
  }

  void add(Token::Type type, std::string text = {}, Value number = {}) {
    tokens_.push_back({type, line_, std::move(text), std::move(number)});
  }

  void skip_spaces() {
    const std::string_view stripped = strip(rest(), nullptr, true, false);
    advance(rest().size() - stripped.size());
  }

  // Skips `text` if it stands here.
  bool accept(std::string_view text) {
    if (!at(text)) return false;
    advance(text.size());
    return true;
  }

  // Text up to the next tag, then the tag.
  void read_text() {
    const size_t begin = position_;
    size_t open = begin;
    for (;; ++open) {
      open = source_.find('{', open);
      if (open == std::string::npos || open + 1 >= source_.size()) break;
      const char kind = source_[open + 1];
      if (kind == '%' || kind == '{' || kind == '#') break;
    }
    if (open == std::string::npos || open + 1 >= source_.size()) {
      add(Token::Type::text, source_.substr(begin));
      return advance(source_.size() - begin);
    }
    const char kind = source_[open + 1];
    const Tag tag = kind == '%' ? Tag::block : kind == '{' ? Tag::variable : Tag::comment;
    const char sign = open + 2 < source_.size() ? source_[open + 2] : '\0';
    std::string_view text = std::string_view(source_).substr(begin, open - begin);
    add_text(text, sign, tag != Tag::variable);
    advance(open - begin + 2 + (sign == '-' || sign == '+'));
    switch (tag) {
      case Tag::comment: return read_comment();
      case Tag::variable: return read_variable();
      case Tag::block: return accept_raw() ? read_raw() : read_block();
    }
  }

  // The text before a tag that opens with `sign`. Without a sign, a block's tag takes its indentation along.
  void add_text(std::string_view text, char sign, bool is_block) {
    if (sign == '-') {
      text = strip(text, nullptr, false, true);
    } else if (sign != '+' && is_block) {
      const size_t line_begin = text.rfind('\n') + 1;
      if ((line_begin > 0 || line_starting_) && strip(text.substr(line_begin)).empty()) {
        text = text.substr(0, line_begin);
      }
    }
    if (!text.empty()) add(Token::Type::text, std::string(text));
  }

  // The end of a block or comment if it stands here: `close`, with its sign and the whitespace it takes.
  bool accept_close(std::string_view close) {
    const size_t begin = position_;
    if (at("-") && std::string_view(source_).substr(position_ + 1).starts_with(close)) {
      advance(1 + close.size());
      skip_spaces();
    } else if (at("+") && std::string_view(source_).substr(position_ + 1).starts_with(close)) {
      advance(1 + close.size());
    } else if (at(close)) {
      advance(close.size());
      accept("\n");
    } else {
      return false;
    }
    line_starting_ = position_ > begin && source_[position_ - 1] == '\n';
    return true;
  }

  void read_comment() {
    const int opened = line_;
    while (!accept_close("#}")) {
      if (position_ >= source_.size()) throw Failure{"a comment is not closed", opened};
      advance(1);
    }
  }

  // `raw %}` after `{%`.
  bool accept_raw() {
    const size_t begin = position_;
    const int line = line_;
    skip_spaces();
    if (accept("raw")) {
      skip_spaces();
      if (accept("-%}")) {
        skip_spaces();
        line_starting_ = source_[position_ - 1] == '\n';
        return true;
      }
      if (accept("%}")) {
        line_starting_ = false;
        return true;
      }
    }
    position_ = begin;
    line_ = line;
    return false;
  }

  void read_raw() {
    const size_t begin = position_;
    const int opened = line_;
    for (size_t open = begin; (open = source_.find("{%", open)) != std::string::npos; ++open) {
      position_ = begin;
      line_ = opened;
      advance(open + 2 - begin);
      const char sign = position_ < source_.size() ? source_[position_] : '\0';
      if (sign == '-' || sign == '+') advance(1);
      skip_spaces();
      if (!accept("endraw")) continue;
      skip_spaces();
      const bool line_starting = line_starting_;
      if (!accept_close("%}")) continue;
      const bool after = std::exchange(line_starting_, line_starting);
      add_text(std::string_view(source_).substr(begin, open - begin), sign, true);
      line_starting_ = after;
      return;
    }
    throw Failure{"a raw block is not closed", opened};
  }

  void read_variable() {
    add(Token::Type::variable_begin);
    while (position_ < source_.size()) {
      if (brackets_.empty() && (at("}}") || at("-}}"))) {
        add(Token::Type::variable_end);
        const bool strips = at("-");
        advance(strips ? 3 : 2);
        if (strips) skip_spaces();
        line_starting_ = source_[position_ - 1] == '\n';
        return;
      }
      read_token();
    }
  }

  void read_block() {
    add(Token::Type::block_begin);
    while (position_ < source_.size()) {
      if (brackets_.empty()) {
        const int line = line_;
        if (accept_close("%}")) {
          tokens_.push_back({Token::Type::block_end, line, {}, {}});
          return;
        }
      }
      read_token();
    }
  }

  void read_token() {
    size_t next = position_;
    const char32_t c = decode(source_, next);
    if (is_space(c)) return advance(next - position_);
    if (c >= U'0' && c <= U'9') return read_number();
    if (c == U'"' || c == U'\'') return read_string();
    if (is_identifier_part(c) || is_alnum(c)) return read_name();
    read_symbol();
  }

  void read_name() {
    size_t end = position_;
    bool valid = true;
    while (end < source_.size()) {
      size_t next = end;
      const char32_t c = decode(source_, next);
      if (!is_identifier_part(c) && !is_alnum(c)) break;
      valid = valid && (end == position_ ? is_identifier_start(c) : is_identifier_part(c));
      end = next;
    }
    if (!valid) fail("a name has an invalid character");
    add(Token::Type::name, source_.substr(position_, end - position_));
    advance(end - position_);
  }

  void read_number() {
    // After a dot only whole numbers follow: a.0.5 is a[0][5].
    const bool after_dot = position_ > 0 && source_[position_ - 1] == '.';
    const NumberToken number = scan_number(rest(), !after_dot);
    if (!number.value)
      fail(fmt::format("the number {} does not fit 64 bits",
                       rest().substr(0, std::min<size_t>(number.size, 40))));
    add(Token::Type::number, {}, *number.value);
    advance(number.size);
  }

  void read_symbol() {
    constexpr std::string_view kDouble[] = {"//", "**", "==", "!=", ">=", "<="};
    constexpr std::string_view kSingle = "+-/*%~[](){}><=.:|,;";
    for (const std::string_view symbol : kDouble) {
      if (at(symbol)) {
        add(Token::Type::symbol, std::string(symbol));
        return advance(symbol.size());
      }
    }
    const char c = source_[position_];
    if (kSingle.find(c) == std::string_view::npos) {
      size_t end = position_;
      decode(source_, end);
      fail(fmt::format("unexpected character {}", quote_text(rest().substr(0, end - position_))));
    }
    balance(c);
    add(Token::Type::symbol, std::string(1, c));
    advance(1);
  }

  void balance(char c) {
    constexpr std::string_view kOpen = "([{", kClose = ")]}";
    if (const size_t i = kOpen.find(c); i != std::string_view::npos) {
      brackets_ += kClose[i];
    } else if (kClose.find(c) != std::string_view::npos) {
      if (brackets_.empty()) fail(fmt::format("unexpected '{}'", c));
      if (brackets_.back() != c) fail(fmt::format("unexpected '{}', expected '{}'", c, brackets_.back()));
      brackets_.pop_back();
    }
  }

  void read_string() {
    const char quote = source_[position_];
    size_t end = position_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) fail("a string is not closed");
    add(Token::Type::string, unescape(std::string_view(source_).substr(position_ + 1, end - position_ - 1)));
    advance(end + 1 - position_);
  }

  std::string unescape(std::string_view text) const {
    std::string out;
    out.reserve(text.size());
    for (size_t i = 0; i < text.size();) {
      if (text[i] != '\\') {
        out += text[i++];
      } else {
        ++i;
        unescape_one(text, i, out);
      }
    }
    return out;
  }

  // One escape of Python's string literals; `i` stands behind the backslash.
  void unescape_one(std::string_view text, size_t& i, std::string& out) const {
    constexpr std::string_view kLetters = "abfnrtv\\'\"", kMeanings = "\a\b\f\n\r\t\v\\'\"";
    const char c = text[i];
    if (const size_t k = kLetters.find(c); k != std::string_view::npos) {
      out += kMeanings[k];
      ++i;
    } else if (c == '\n') {
      ++i;
    } else if (c >= '0' && c <= '7') {
      const size_t digits = std::min(text.find_first_not_of("01234567", i), std::min(i + 3, text.size())) - i;
      append_escaped(text.substr(i, digits), 8, out);
      i += digits;
    } else if (c == 'x' || c == 'u' || c == 'U') {
      const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : 8;
      if (text.size() - i - 1 < digits)
        fail(fmt::format("a \\{} escape needs {} hexadecimal digits", c, digits));
      append_escaped(text.substr(i + 1, digits), 16, out);
      i += 1 + digits;
    } else if (c == 'N') {
      fail("\\N{...} escapes are not supported");
    } else if (static_cast<unsigned char>(c) < 0x80) {
      out += '\\';  // an unknown escape stays as it is
      out += c;
      ++i;
    } else {
      // jinja2 spells such characters as escapes before it looks for escapes, and so breaks this one.
      const std::string spelled = quote_text(text.substr(i, next_size(text, i)), true);
      out += spelled.substr(1, spelled.size() - 2);
      i += next_size(text, i);
    }
  }

  static size_t next_size(std::string_view text, size_t i) {
    size_t end = i;
    decode(text, end);
    return end - i;
  }

  void append_escaped(std::string_view digits, int base, std::string& out) const {
    uint32_t code = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, base);
    if (error != std::errc{} || end != digits.data() + digits.size()) {
      fail(fmt::format("{} is not a number in an escape", quote_text(digits)));
    }
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
      fail(fmt::format("an escape names U+{:04X}, which is no character", code));
    }
    append_code_point(out, code);
  }

  std::string source_;
  size_t position_ = 0;
  int line_ = 1;
  bool line_starting_ = true;  // the last tag took the line end behind it
  std::string brackets_;       // the closing ones that are awaited
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) {
  if (!is_valid_utf8(source)) fail("the template is not valid UTF-8");
  return Lexer(source).run();
}

}  // namespace indexshare::jinja
