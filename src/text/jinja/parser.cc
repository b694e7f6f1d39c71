// A recursive-descent parser with one function per level of precedence and per statement.
#include "text/jinja/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <unordered_map>

#include "text/jinja/analysis.h"
#include "text/jinja/lexer.h"
#include "text/jinja/unicode.h"

namespace indexshare::jinja {
namespace {

using Type = Token::Type;
using Words = std::initializer_list<std::string_view>;

int height_of(const ExpressionPtr& expression) {
  return expression ? expression->height : 0;
}

int height_of(const CallArguments& arguments) {
  int height = std::max(height_of(arguments.star), height_of(arguments.double_star));
  for (const auto& argument : arguments.positional) height = std::max(height, argument->height);
  for (const auto& argument : arguments.named) height = std::max(height, argument.second->height);
  return height;
}

class Parser {
 public:
  explicit Parser(std::string_view source) : tokens_(tokenize(source)) {
    for (const char* name : {"loop", "caller", "kwargs", "varargs"}) symbol(name);
  }

  Syntax run() {
    syntax_.body = parse_block({});
    return std::move(syntax_);
  }

 private:
  // Counts the nesting of the parser's own calls.
  class Nesting {
   public:
    explicit Nesting(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > kMaxSyntaxDepth) {
        parser_.fail(
            fmt::format("statements or expressions are nested deeper than {} levels", kMaxSyntaxDepth));
      }
    }
    ~Nesting() { --parser_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    Parser& parser_;
  };

  [[noreturn]] void fail(std::string message) const { fail_at(current().line, std::move(message)); }
  [[noreturn]] static void fail_at(int line, std::string message) { throw Failure{std::move(message), line}; }

  // --- tokens ---

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
  bool is_any_word(Words words) const {
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return is_word(word); });
  }
  bool accept_symbol(std::string_view text) { return is_symbol(text) && (next(), true); }
  bool accept_word(std::string_view text) { return is_word(text) && (next(), true); }

  static std::string describe(const Token& token) {
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

  const Token& expect(Type type, std::string_view what) {
    if (!is(type)) fail(fmt::format("expected {}, got {}", what, describe(current())));
    return next();
  }
  void expect_symbol(std::string_view text) {
    if (!accept_symbol(text)) fail(fmt::format("expected '{}', got {}", text, describe(current())));
  }
  void expect_word(std::string_view text) {
    if (!accept_word(text)) fail(fmt::format("expected '{}', got {}", text, describe(current())));
  }
  std::string expect_name() { return expect(Type::name, "a name").text; }

  Symbol symbol(const std::string& name) {
    const auto [it, added] = symbols_.emplace(name, static_cast<Symbol>(syntax_.names.size()));
    if (added) syntax_.names.push_back(name);
    return it->second;
  }

  template <typename Node>
  ExpressionPtr make(int line, int operand_height, Node node) const {
    if (operand_height >= kMaxExpressionHeight) {
      fail_at(line, fmt::format("an expression has more than {} operators in a row", kMaxExpressionHeight));
    }
    return std::make_unique<Expression>(Expression{line, operand_height + 1, std::move(node)});
  }

  // --- statements ---

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

  // --- expressions ---

  bool ends_tuple() const { return is(Type::variable_end) || is(Type::block_end) || is_symbol(")"); }

  // An expression, or several with commas between them: a tuple.
  ExpressionPtr parse_tuple(bool with_condition = true, bool in_parentheses = false) {
    const int line = current().line;
    std::vector<ExpressionPtr> items;
    bool is_tuple = false;
    while (!ends_tuple()) {
      items.push_back(with_condition ? parse_expression() : parse_or());
      if (!accept_symbol(",")) break;
      is_tuple = true;
    }
    if (!is_tuple && !items.empty()) return std::move(items[0]);
    if (!is_tuple && !in_parentheses)
      fail(fmt::format("expected an expression, got {}", describe(current())));
    return make_display(line, false, std::move(items));
  }

  ExpressionPtr make_display(int line, bool list, std::vector<ExpressionPtr> items) const {
    int height = 0;
    for (const auto& item : items) height = std::max(height, item->height);
    return make(line, height, SequenceDisplay{list, std::move(items)});
  }

  ExpressionPtr parse_expression() {
    const Nesting nesting(*this);
    int line = current().line;
    ExpressionPtr value = parse_or();
    while (accept_word("if")) {
      ExpressionPtr test = parse_or();
      ExpressionPtr otherwise = accept_word("else") ? parse_expression() : nullptr;
      const int height = std::max({value->height, test->height, height_of(otherwise)});
      value = make(line, height, Conditional{std::move(test), std::move(value), std::move(otherwise)});
      line = current().line;
    }
    return value;
  }

  ExpressionPtr parse_or() {
    ExpressionPtr left = parse_and();
    for (int line = current().line; accept_word("or"); line = current().line) {
      left = make_logical(line, false, std::move(left), parse_and());
    }
    return left;
  }

  ExpressionPtr parse_and() {
    ExpressionPtr left = parse_not();
    for (int line = current().line; accept_word("and"); line = current().line) {
      left = make_logical(line, true, std::move(left), parse_not());
    }
    return left;
  }

  ExpressionPtr make_logical(int line, bool is_and, ExpressionPtr left, ExpressionPtr right) const {
    const int height = std::max(left->height, right->height);
    return make(line, height, Logical{is_and, std::move(left), std::move(right)});
  }

  ExpressionPtr parse_not() {
    if (!is_word("not")) return parse_comparison();
    const Nesting nesting(*this);
    const int line = next().line;
    ExpressionPtr operand = parse_not();
    const int height = operand->height;
    return make(line, height, Not{std::move(operand)});
  }

  std::optional<Relation> accept_relation() {
    constexpr std::pair<std::string_view, Relation> kRelations[] = {
        {"==", Relation::equal},      {"!=", Relation::not_equal}, {"<", Relation::less},
        {"<=", Relation::less_equal}, {">", Relation::greater},    {">=", Relation::greater_equal}};
    for (const auto& [sign, relation] : kRelations) {
      if (accept_symbol(sign)) return relation;
    }
    if (accept_word("in")) return Relation::in;
    if (is_word("not") && is_word(ahead(), "in")) return next(), next(), Relation::not_in;
    return std::nullopt;
  }

  ExpressionPtr parse_comparison() {
    const int line = current().line;
    ExpressionPtr first = parse_sum();
    int height = first->height;
    Comparison node{std::move(first), {}};
    while (const auto relation = accept_relation()) {
      node.rest.emplace_back(*relation, parse_sum());
      height = std::max(height, node.rest.back().second->height);
    }
    if (node.rest.empty()) return std::move(node.first);
    return make(line, height, std::move(node));
  }

  ExpressionPtr make_binary(int line, BinaryOperator op, ExpressionPtr left, ExpressionPtr right) const {
    const int height = std::max(left->height, right->height);
    return make(line, height, Binary{op, std::move(left), std::move(right)});
  }

  ExpressionPtr parse_sum() {
    ExpressionPtr left = parse_concatenation();
    while (is_symbol("+") || is_symbol("-")) {
      const int line = current().line;
      const BinaryOperator op = next().text == "+" ? BinaryOperator::add : BinaryOperator::subtract;
      left = make_binary(line, op, std::move(left), parse_concatenation());
    }
    return left;
  }

  ExpressionPtr parse_concatenation() {
    const int line = current().line;
    ExpressionPtr first = parse_product();
    if (!is_symbol("~")) return first;
    int height = first->height;
    Concatenation node;
    node.parts.push_back(std::move(first));
    while (accept_symbol("~")) {
      node.parts.push_back(parse_product());
      height = std::max(height, node.parts.back()->height);
    }
    return make(line, height, std::move(node));
  }

  ExpressionPtr parse_product() {
    constexpr std::pair<std::string_view, BinaryOperator> kOperators[] = {
        {"*", BinaryOperator::multiply},
        {"/", BinaryOperator::divide},
        {"//", BinaryOperator::floor_divide},
        {"%", BinaryOperator::modulo}};
    ExpressionPtr left = parse_power();
    for (;;) {
      const auto* op = std::find_if(std::begin(kOperators), std::end(kOperators),
                                    [&](const auto& entry) { return is_symbol(entry.first); });
      if (op == std::end(kOperators)) return left;
      const int line = next().line;
      left = make_binary(line, op->second, std::move(left), parse_power());
    }
  }

  // Groups from the left: Jinja's ** differs from Python's here.
  ExpressionPtr parse_power() {
    ExpressionPtr left = parse_unary();
    while (is_symbol("**")) {
      const int line = next().line;
      left = make_binary(line, BinaryOperator::power, std::move(left), parse_unary());
    }
    return left;
  }

  ExpressionPtr parse_unary(bool with_filters = true) {
    const Nesting nesting(*this);
    const int line = current().line;
    ExpressionPtr node;
    if (is_symbol("-") || is_symbol("+")) {
      const UnaryOperator op = next().text == "-" ? UnaryOperator::minus : UnaryOperator::plus;
      ExpressionPtr operand = parse_unary(false);
      const int height = operand->height;
      node = make(line, height, Unary{op, std::move(operand)});
    } else {
      node = parse_primary();
    }
    node = parse_postfix(std::move(node));
    return with_filters ? parse_filters_and_tests(std::move(node)) : std::move(node);
  }

  ExpressionPtr parse_primary() {
    const Token token = current();
    switch (token.type) {
      case Type::name: return parse_name();
      case Type::number: next(); return make(token.line, 0, Constant{token.number});
      case Type::string: {
        std::string text;
        while (is(Type::string)) text += next().text;
        return make(token.line, 0, Constant{Value::string(std::move(text))});
      }
      default: break;
    }
    if (accept_symbol("(")) {
      ExpressionPtr inner = parse_tuple(true, true);
      expect_symbol(")");
      return inner;
    }
    if (accept_symbol("[")) return parse_list(token.line);
    if (accept_symbol("{")) return parse_dict(token.line);
    fail(fmt::format("unexpected {}", describe(token)));
  }

  ExpressionPtr parse_name() {
    const Token& token = next();
    const std::string& name = token.text;
    if (name == "true" || name == "True") return make(token.line, 0, Constant{Value::boolean(true)});
    if (name == "false" || name == "False") return make(token.line, 0, Constant{Value::boolean(false)});
    if (name == "none" || name == "None") return make(token.line, 0, Constant{Value()});
    return make(token.line, 0, Name{symbol(name)});
  }

  ExpressionPtr parse_list(int line) {
    std::vector<ExpressionPtr> items;
    while (!accept_symbol("]")) {
      if (!items.empty()) {
        expect_symbol(",");
        if (accept_symbol("]")) break;
      }
      items.push_back(parse_expression());
    }
    return make_display(line, true, std::move(items));
  }

  ExpressionPtr parse_dict(int line) {
    DictDisplay node;
    int height = 0;
    while (!accept_symbol("}")) {
      if (!node.entries.empty()) {
        expect_symbol(",");
        if (accept_symbol("}")) break;
      }
      ExpressionPtr key = parse_expression();
      expect_symbol(":");
      ExpressionPtr value = parse_expression();
      height = std::max({height, key->height, value->height});
      node.entries.emplace_back(std::move(key), std::move(value));
    }
    return make(line, height, std::move(node));
  }

  ExpressionPtr parse_postfix(ExpressionPtr node) {
    for (;;) {
      if (is_symbol(".")) {
        node = parse_attribute(std::move(node));
      } else if (is_symbol("[")) {
        node = parse_subscript(std::move(node));
      } else if (is_symbol("(")) {
        node = parse_call(std::move(node));
      } else {
        return node;
      }
    }
  }

  ExpressionPtr parse_attribute(ExpressionPtr object) {
    const int line = next().line;
    const int height = object->height;
    if (is(Type::name)) return make(line, height, Attribute{std::move(object), next().text});
    if (!is(Type::number) || !current().number.is(Kind::integer)) {
      fail(fmt::format("expected a name or a whole number behind '.', got {}", describe(current())));
    }
    return make(line, height, Item{std::move(object), make(line, 0, Constant{next().number})});
  }

  ExpressionPtr parse_subscript(ExpressionPtr object) {
    const int line = next().line;
    if (is_symbol(":")) return parse_slice(line, std::move(object), nullptr);
    std::vector<ExpressionPtr> keys;
    while (!is_symbol("]")) {
      if (!keys.empty()) expect_symbol(",");
      keys.push_back(parse_expression());
      if (is_symbol(":") && keys.size() == 1) return parse_slice(line, std::move(object), std::move(keys[0]));
    }
    next();
    ExpressionPtr key = keys.size() == 1 ? std::move(keys[0]) : make_display(line, false, std::move(keys));
    const int height = std::max(object->height, key->height);
    return make(line, height, Item{std::move(object), std::move(key)});
  }

  // Behind `object[start`, at the colon.
  ExpressionPtr parse_slice(int line, ExpressionPtr object, ExpressionPtr start) {
    expect_symbol(":");
    Slice node{std::move(object), std::move(start), nullptr, nullptr};
    if (!is_symbol(":") && !is_symbol("]")) node.stop = parse_expression();
    if (accept_symbol(":") && !is_symbol("]")) node.step = parse_expression();
    expect_symbol("]");
    const int height =
        std::max({height_of(node.object), height_of(node.start), height_of(node.stop), height_of(node.step)});
    return make(line, height, std::move(node));
  }

  ExpressionPtr parse_call(ExpressionPtr callee) {
    const int line = current().line;
    CallArguments arguments = parse_arguments();
    const int height = std::max(callee->height, height_of(arguments));
    return make(line, height, Call{std::move(callee), std::move(arguments)});
  }

  CallArguments parse_arguments() {
    const int line = current().line;
    const auto ensure = [&](bool condition) {
      if (!condition) fail_at(line, "the arguments of a call stand in a wrong order");
    };
    CallArguments arguments;
    expect_symbol("(");
    for (bool first = true; !is_symbol(")"); first = false) {
      if (!first) {
        expect_symbol(",");
        if (is_symbol(")")) break;
      }
      if (accept_symbol("*")) {
        ensure(!arguments.star && !arguments.double_star);
        arguments.star = parse_expression();
      } else if (accept_symbol("**")) {
        ensure(!arguments.double_star);
        arguments.double_star = parse_expression();
      } else if (is(Type::name) && is_symbol(ahead(), "=")) {
        ensure(!arguments.double_star);
        parse_named_argument(arguments);
      } else {
        ensure(!arguments.star && !arguments.double_star && arguments.named.empty());
        arguments.positional.push_back(parse_expression());
      }
    }
    next();
    return arguments;
  }

  void parse_named_argument(CallArguments& arguments) {
    const Token& token = next();
    next();
    for (const auto& argument : arguments.named) {
      if (argument.first == token.text) {
        fail_at(token.line, fmt::format("the argument '{}' is given twice", token.text));
      }
    }
    arguments.named.emplace_back(token.text, parse_expression());
  }

  ExpressionPtr parse_filters_and_tests(ExpressionPtr node) {
    for (;;) {
      if (accept_symbol("|")) {
        node = parse_filter(std::move(node));
      } else if (is_word("is")) {
        node = parse_test(std::move(node));
      } else if (is_symbol("(")) {
        node = parse_call(std::move(node));
      } else {
        return node;
      }
    }
  }

  ExpressionPtr parse_filters(ExpressionPtr node) {
    while (accept_symbol("|")) node = parse_filter(std::move(node));
    return node;
  }

  std::string parse_dotted_name() {
    std::string name = expect_name();
    while (accept_symbol(".")) name += "." + expect_name();
    return name;
  }

  // Behind the `|`.
  ExpressionPtr parse_filter(ExpressionPtr input) {
    const int line = current().line;
    FilterCall node{std::move(input), parse_dotted_name(), {}};
    if (is_symbol("(")) node.arguments = parse_arguments();
    const int height = std::max(height_of(node.input), height_of(node.arguments));
    return make(line, height, std::move(node));
  }

  bool begins_test_argument() const {
    if (is_any_word({"else", "or", "and"})) return false;
    return is(Type::name) || is(Type::string) || is(Type::number) || is_symbol("[") || is_symbol("{");
  }

  ExpressionPtr parse_test(ExpressionPtr input) {
    const int line = next().line;
    const bool negated = accept_word("not");
    TestCall node{std::move(input), parse_dotted_name(), {}};
    if (is_symbol("(")) {
      node.arguments = parse_arguments();
    } else if (begins_test_argument()) {
      if (is_word("is")) fail("tests cannot be chained with 'is'");
      node.arguments.positional.push_back(parse_postfix(parse_primary()));
    }
    const int height = std::max(node.input->height, height_of(node.arguments));
    ExpressionPtr test = make(line, height, std::move(node));
    return negated ? make(line, height + 1, Not{std::move(test)}) : std::move(test);
  }

  std::vector<Token> tokens_;
  size_t position_ = 0;
  int depth_ = 0;
  Syntax syntax_;
  std::unordered_map<std::string, Symbol> symbols_;
};

}  // namespace

Syntax parse(std::string_view source) {
  Syntax syntax = Parser(source).run();
  analyze(syntax);
  return syntax;
}

}  // namespace indexshare::jinja
