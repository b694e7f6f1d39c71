#include "text/regex_syntax.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/error.h"
#include "text/utf8.h"

namespace indexshare {

namespace {

constexpr size_t kMaxGroups = 100;  // nested
constexpr size_t kMaxNamed = 256;
constexpr char32_t kNoLiteral = 0x110000;  // no single character

constexpr auto kProperties = std::to_array<std::string_view>(
    {"C",  "Cc", "Cf", "Cn", "Co", "Cs", "L",  "Ll", "Lm", "Lo", "Lt", "Lu", "M",
     "Mc", "Me", "Mn", "N",  "Nd", "Nl", "No", "P",  "Pc", "Pd", "Pe", "Pf", "Pi",
     "Po", "Ps", "S",  "Sc", "Sk", "Sm", "So", "Z",  "Zl", "Zp", "Zs"});

/// Pairs of letters that Oniguruma also lets one character match when case is ignored (ß is "ss").
constexpr auto kFoldingPairs = std::to_array<std::string_view>({"ss", "ff", "fi", "fl", "st"});

bool is_ascii_letter(char32_t c) {
  return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}
bool is_ascii_digit(char32_t c) {
  return c >= '0' && c <= '9';
}

class Reader {
 public:
  Reader(std::string_view pattern, std::string_view where) : pattern_(pattern), where_(where) {}

  Result<RegexSyntax> read() {
    while (!at_end()) RETURN_IF_ERROR(read_item());
    if (!groups_.empty()) return refuse("a group that is not closed");
    return std::move(syntax_);
  }

 private:
  struct Group {
    bool ignores_case;
  };

  bool at_end() const { return position_ == pattern_.size(); }
  std::string_view rest() const { return pattern_.substr(position_); }
  bool next_is(std::string_view text) const { return rest().starts_with(text); }
  bool ignores_case() const { return !groups_.empty() && groups_.back().ignores_case; }

  bool take(std::string_view text) {
    if (!next_is(text)) return false;
    position_ += text.size();
    return true;
  }

  char32_t take_code_point() {
    const Utf8Step step = utf8_step(rest());
    position_ += step.length;
    return step.code_point;
  }

  Error refuse(std::string_view what) const {
    return make_error("{}: the pattern \"{}\" has {} at byte {}, which is not supported", where_, pattern_,
                      what, position_);
  }

  Result<void> read_item() {
    if (take("\\")) {
      atom_ = true;
      ASSIGN_OR_RETURN(const char32_t literal, read_escape(false));
      return literal == kNoLiteral ? Result<void>() : add_literal(literal);
    }
    if (take("[")) return read_class();
    if (take("(")) return open_group();
    if (take(")")) {
      if (groups_.empty()) return refuse("a \")\" without its \"(\"");
      groups_.pop_back();
      atom_ = true;
      last_letter_ = 0;
      return {};
    }
    if (take("|")) {
      atom_ = false;
      last_letter_ = 0;
      return {};
    }
    if (next_is("*") || next_is("+") || next_is("?") || next_is("{")) return read_quantifier();
    if (take("^") || take("$")) {  // of a line, in both
      atom_ = false;
      last_letter_ = 0;
      return {};
    }
    atom_ = true;
    if (take(".")) {
      last_letter_ = 0;
      return {};
    }
    if (next_is("]") || next_is("}")) return refuse("an unescaped bracket");
    return add_literal(take_code_point());
  }

  /// After "(".
  Result<void> open_group() {
    bool case_ignored = ignores_case();
    if (take("?i:")) {
      case_ignored = true;
    } else if (next_is("?")) {
      const bool known = take("?:") || take("?=") || take("?!") || take("?<=") || take("?<!") || take("?>");
      if (!known) return refuse("a kind of group");
    } else if (next_is("*")) {
      return refuse("a kind of group");
    }
    if (groups_.size() == kMaxGroups) return refuse("too many nested groups");
    groups_.push_back({case_ignored});
    atom_ = false;
    last_letter_ = 0;
    return {};
  }

  Result<void> read_quantifier() {
    if (!atom_) return refuse("a quantifier without anything before it");
    atom_ = false;
    last_letter_ = 0;
    if (take("*") || take("+") || take("?")) {
      if (!take("?")) take("+");  // reluctant, possessive
      return {};
    }
    take("{");
    if (!skip_digits()) return refuse("a \"{\" that begins no {n}, {n,} or {n,m}");
    const bool is_range = take(",");
    if (is_range) skip_digits();
    if (!take("}")) return refuse("a \"{\" that begins no {n}, {n,} or {n,m}");
    // To Oniguruma "{n}?" is "n or nothing" and "{n,m}+" a repetition of the repetition.
    if (next_is("+") || (!is_range && next_is("?"))) return refuse("a quantifier after {n}");
    take("?");
    return {};
  }

  bool skip_digits() {
    const size_t begin = position_;
    while (!at_end() && is_ascii_digit(static_cast<unsigned char>(pattern_[position_]))) ++position_;
    return position_ > begin;
  }

  /// After "\": the character meant, or kNoLiteral for a class, property or anchor.
  Result<char32_t> read_escape(bool in_class) {
    if (at_end()) return refuse("a \"\\\" without anything after it");
    if (next_is("p{") || next_is("P{")) {
      RETURN_IF_ERROR(read_property());
      return kNoLiteral;
    }
    if (take("x{")) {
      ASSIGN_OR_RETURN(const char32_t c, read_hex());
      return c;
    }
    const char32_t c = take_code_point();
    switch (c) {
      case 'n': return U'\n';
      case 'r': return U'\r';
      case 't': return U'\t';
      case 'f': return U'\f';
      case 'a': return U'\a';
      case 'e': return U'\x1b';
      case 's':
      case 'S':
      case 'd':
      case 'D': return no_literal();
      case 'A':
      case 'z':
      case 'Z':
        if (!in_class) {
          atom_ = false;
          return no_literal();
        }
        break;
      default:
        if (c >= 0x80 || (!is_ascii_letter(c) && !is_ascii_digit(c))) return c;
    }
    return refuse("an escape (\\p{..} of general categories, \\s, \\d, \\x{..} and a few more are known)");
  }

  Result<char32_t> no_literal() {
    last_letter_ = 0;
    if (ignores_case()) return refuse("a class in a group that ignores case");
    return kNoLiteral;
  }

  Result<void> read_property() {
    const size_t begin = position_;
    position_ += 2;
    take("^");
    const size_t end = pattern_.find('}', position_);
    const std::string_view name =
        end == std::string_view::npos ? "" : pattern_.substr(position_, end - position_);
    if (std::find(kProperties.begin(), kProperties.end(), name) == kProperties.end() || name.empty()) {
      position_ = begin;
      return refuse("a property other than the general categories (L, Lu, N, Nd, ...)");
    }
    position_ = end + 1;
    RETURN_IF_ERROR(no_literal());
    return {};
  }

  /// After "\x{".
  Result<char32_t> read_hex() {
    char32_t value = 0;
    size_t digits = 0;
    for (; !at_end() && !next_is("}"); ++position_, ++digits) {
      const char32_t c = static_cast<unsigned char>(pattern_[position_]);
      const bool is_hex = is_ascii_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
      if (!is_hex || digits == 6) return refuse("a malformed \\x{..}");
      value = value * 16 + (is_ascii_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    if (!take("}") || digits == 0 || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) {
      return refuse("a malformed \\x{..}");
    }
    return value;
  }

  /// After "[". Nested classes and "&&" mean sets to Oniguruma alone.
  Result<void> read_class() {
    take("^");
    if (next_is("]")) return refuse("a class that begins with \"]\"");
    last_letter_ = 0;
    char32_t previous = kNoLiteral;  // what a following "-" would begin a range from
    bool first = true;
    while (!take("]")) {
      if (at_end()) return refuse("a class that is not closed");
      if (next_is("[") || next_is("&&")) return refuse("a set operation in a class");
      if (next_is("-") && !first && !next_is("-]")) {
        take("-");
        ASSIGN_OR_RETURN(const char32_t last, read_class_item());
        if (previous == kNoLiteral || last == kNoLiteral || last < previous)
          return refuse("a malformed range in a class");
        RETURN_IF_ERROR(add_range(previous, last));
        previous = kNoLiteral;
      } else {
        ASSIGN_OR_RETURN(previous, read_class_item());
        if (previous != kNoLiteral) RETURN_IF_ERROR(add_range(previous, previous));
      }
      first = false;
    }
    atom_ = true;
    return {};
  }

  Result<char32_t> read_class_item() {
    if (take("\\")) return read_escape(true);
    if (next_is("[") || next_is("&&")) return refuse("a set operation in a class");
    if (next_is("]")) return refuse("a malformed range in a class");
    if (at_end()) return refuse("a class that is not closed");
    return take_code_point();
  }

  Result<void> add_range(char32_t first, char32_t last) {
    if (last < 0x80) return {};
    if (ignores_case()) return refuse("a character beyond ASCII in a group that ignores case");
    if (syntax_.named.size() == kMaxNamed) return refuse("too many characters beyond ASCII");
    syntax_.named.push_back({first, last});
    return {};
  }

  Result<void> add_literal(char32_t c) {
    RETURN_IF_ERROR(add_range(c, c));
    const char letter = is_ascii_letter(c) ? static_cast<char>(c | 0x20) : '\0';
    if (ignores_case() && last_letter_ != 0 && letter != 0) {
      const std::string pair = {last_letter_, letter};
      if (std::find(kFoldingPairs.begin(), kFoldingPairs.end(), pair) != kFoldingPairs.end()) {
        return refuse("letters that one character may stand for when case is ignored");
      }
    }
    last_letter_ = letter;
    return {};
  }

  std::string_view pattern_;
  std::string_view where_;
  size_t position_ = 0;
  bool atom_ = false;     // whether a quantifier may follow
  char last_letter_ = 0;  // the literal just read, in lower case, where it is a letter
  std::vector<Group> groups_;
  RegexSyntax syntax_;
};

}  // namespace

Result<RegexSyntax> check_regex_syntax(std::string_view pattern, std::string_view where) {
  return Reader(pattern, where).read();
}

}  // namespace indexshare
