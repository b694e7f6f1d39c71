// A recursive-descent parser with one function per statement.
#include "text/jinja/parser.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "text/jinja/analysis.h"
#include "text/jinja/expression_parser.h"
#include "text/jinja/unicode.h"

namespace indexshare::jinja {
namespace {

class StatementParser : private ExpressionParser {
 public:
  explicit StatementParser(std::string_view source) : ExpressionParser(source) {}

  Syntax run() {
    Syntax syntax;
    syntax.body = parse_block({});
    syntax.names = take_names();
    return syntax;
  }

 private:
  // Everything up to a statement that one of `ends` names, where the parser then stands behind `{%`.
  Block parse_block(Words ends) {
    const Nesting nesting(*this);
    Block block;
    for (;;) {
      const int line = current().line;
      if (is(Type::text)) {
        block.statements.push_back({line, Text{next().text}});
      } else if (is(Type::variable_begin)) {
        next();
        Output output;
        output.values.push_back(parse_tuple());
        expect(Type::variable_end, "'}}'");
        block.statements.push_back({line, std::move(output)});
      } else if (is(Type::block_begin)) {
        next();
        if (is_any_word(ends)) return block;
        block.statements.push_back(parse_statement());
        expect(Type::block_end, "'%}'");
      } else {
        if (ends.size() > 0) {
          fail(fmt::format("the template ends where '{}' is expected", *std::prev(ends.end())));
        }
        return block;
      }
    }
  }

  // The body of a statement: behind its `%}`, through to an end, whose word is not read yet.
  Block parse_body(Words ends) {
    accept_symbol(":");
    expect(Type::block_end, "'%}'");
    return parse_block(ends);
  }
  Block parse_body_through(std::string_view end) {
    Block block = parse_body({end});
    next();
    return block;
  }

  Statement parse_statement() {
    const int line = current().line;
    const std::string word = expect(Type::name, "the name of a tag").text;
    if (word == "if") return {line, parse_if()};
    if (word == "for") return {line, parse_for()};
    if (word == "set") return parse_set(line);
    if (word == "macro") return {line, parse_macro()};
    if (word == "call") return {line, parse_call_block()};
    if (word == "filter") return {line, parse_filter_block()};
    if (word == "with") return {line, parse_with()};
    if (word == "print") return {line, parse_print()};
    if (word == "generation") return {line, Generation{parse_body_through("endgeneration")}};
    if (word == "break" || word == "continue") return {line, LoopControl{word == "break"}};
    for (const std::string_view tag :
         {"block", "extends", "include", "import", "from", "autoescape", "do", "trans"}) {
      if (word == tag) fail_at(line, fmt::format("the tag '{}' is not supported in a chat template", word));
    }
    fail_at(line, fmt::format("unexpected tag {}", quote_text(word)));
  }

  If parse_if() {
    If node;
    for (;;) {
      ExpressionPtr test = parse_tuple(false);
      node.branches.push_back({std::move(test), parse_body({"elif", "else", "endif"})});
      if (accept_word("elif")) continue;
      if (accept_word("else")) {
        node.branches.push_back({nullptr, parse_body_through("endif")});
      } else {
        next();
      }
      return node;
    }
  }

  For parse_for() {
    For node;
    node.target = parse_target(false);
    expect_word("in");
    node.iterable = parse_tuple(false);
    if (accept_word("if")) node.test = parse_expression();
    node.recursive = accept_word("recursive");
    node.body = parse_body({"else", "endfor"});
    if (accept_word("else")) {
      node.otherwise = parse_body_through("endfor");
    } else {
      next();
    }
    return node;
  }

  Statement parse_set(int line) {
    Target target = parse_target(true);
    if (accept_symbol("=")) return {line, Set{std::move(target), parse_tuple()}};
    ExpressionPtr filter = parse_filters(nullptr);
    return {line, SetBlock{std::move(target), std::move(filter), parse_body_through("endset")}};
  }

  void parse_signature(MacroSignature& signature) {
    expect_symbol("(");
    while (!is_symbol(")")) {
      if (!signature.parameters.empty()) expect_symbol(",");
      const int line = current().line;
      const std::string name = expect_name();
      check_assignable(line, name);
      const Symbol parameter = symbol(name);
      if (std::find(signature.parameters.begin(), signature.parameters.end(), parameter) !=
          signature.parameters.end()) {
        fail_at(line, fmt::format("the parameter '{}' stands twice", name));
      }
      signature.parameters.push_back(parameter);
      if (accept_symbol("=")) {
        signature.defaults.push_back(parse_expression());
      } else if (!signature.defaults.empty()) {
        fail("a parameter without default follows one with a default");
      }
    }
    next();
  }

  MacroDefinition parse_macro() {
    MacroDefinition node;
    const int line = current().line;
    node.signature.name = expect_name();
    check_assignable(line, node.signature.name);
    node.symbol = symbol(node.signature.name);
    parse_signature(node.signature);
    node.body = parse_body_through("endmacro");
    return node;
  }

  CallBlock parse_call_block() {
    CallBlock node;
    node.signature.name = "caller";
    if (is_symbol("(")) parse_signature(node.signature);
    const int line = current().line;
    node.call = parse_expression();
    if (!std::holds_alternative<Call>(node.call->node)) fail_at(line, "a call block needs a call");
    node.body = parse_body_through("endcall");
    return node;
  }

  FilterBlock parse_filter_block() {
    ExpressionPtr filter = parse_filters(parse_filter(nullptr));
    return {std::move(filter), parse_body_through("endfilter")};
  }

  With parse_with() {
    With node;
    while (!is(Type::block_end)) {
      if (!node.assignments.empty()) expect_symbol(",");
      Target target = parse_target(false);
      expect_symbol("=");
      node.assignments.emplace_back(std::move(target), parse_expression());
    }
    node.body = parse_body_through("endwith");
    return node;
  }

  Output parse_print() {
    Output node;
    while (!is(Type::block_end)) {
      if (!node.values.empty()) expect_symbol(",");
      node.values.push_back(parse_expression());
    }
    return node;
  }

  static void check_assignable(int line, std::string_view name) {
    for (const std::string_view constant : {"true", "false", "none", "True", "False", "None"}) {
      if (name == constant) fail_at(line, fmt::format("cannot assign to '{}'", name));
    }
  }

  // A target of `set`, `for` or `with`.
  Target parse_target(bool allow_attribute) {
    const int line = current().line;
    std::vector<Target> items;
    bool is_tuple = false;
    for (;;) {
      if (ends_tuple()) break;
      items.push_back(parse_one_target(allow_attribute));
      if (!accept_symbol(",")) break;
      is_tuple = true;
    }
    if (!is_tuple && items.size() == 1) return std::move(items[0]);
    if (!is_tuple) fail(fmt::format("expected a name, got {}", describe(current())));
    return {line, -1, {}, true, std::move(items)};
  }

  Target parse_one_target(bool allow_attribute) {
    const Nesting nesting(*this);
    const int line = current().line;
    if (accept_symbol("(")) {
      Target target = is_symbol(")") ? Target{line, -1, {}, true, {}} : parse_target(allow_attribute);
      expect_symbol(")");
      return target;
    }
    if (!is(Type::name)) fail(fmt::format("cannot assign to {}", describe(current())));
    const std::string name = expect_name();
    check_assignable(line, name);
    Target target{line, symbol(name), {}, false, {}};
    if (allow_attribute && accept_symbol(".")) target.attribute = expect_name();
    return target;
  }
};

}  // namespace

Syntax parse(std::string_view source) {
  Syntax syntax = StatementParser(source).run();
  analyze(syntax);
  return syntax;
}

}  // namespace indexshare::jinja
