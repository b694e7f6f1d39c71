#include "text/jinja/expression_parser.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "text/jinja/unicode.h"

namespace indexshare::jinja {
namespace {

int height_of(const ExpressionPtr& expression) {
  return expression ? expression->height : 0;
}

int height_of(const CallArguments& arguments) {
  int height = std::max(height_of(arguments.star), height_of(arguments.double_star));
  for (const auto& argument : arguments.positional) height = std::max(height, argument->height);
  for (const auto& argument : arguments.named) height = std::max(height, argument.second->height);
  return height;
}

template <typename Node>
ExpressionPtr make(int line, int operand_height, Node node) {
  if (operand_height >= kMaxExpressionHeight) {
    throw Failure{fmt::format("an expression has more than {} operators in a row", kMaxExpressionHeight),
                  line};
  }
  return std::make_unique<Expression>(Expression{line, operand_height + 1, std::move(node)});
}

ExpressionPtr make_display(int line, bool list, std::vector<ExpressionPtr> items) {
  int height = 0;
  for (const auto& item : items) height = std::max(height, item->height);
  return make(line, height, SequenceDisplay{list, std::move(items)});
}

ExpressionPtr make_logical(int line, bool is_and, ExpressionPtr left, ExpressionPtr right) {
  const int height = std::max(left->height, right->height);
  return make(line, height, Logical{is_and, std::move(left), std::move(right)});
}

ExpressionPtr make_binary(int line, BinaryOperator op, ExpressionPtr left, ExpressionPtr right) {
  const int height = std::max(left->height, right->height);
  return make(line, height, Binary{op, std::move(left), std::move(right)});
}

}  // namespace

ExpressionPtr ExpressionParser::parse_tuple(bool with_condition, bool in_parentheses) {
  const int line = current().line;
  std::vector<ExpressionPtr> items;
  bool is_tuple = false;
  while (!ends_tuple()) {
    items.push_back(with_condition ? parse_expression() : parse_or());
    if (!accept_symbol(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !items.empty()) return std::move(items[0]);
  if (!is_tuple && !in_parentheses) fail(fmt::format("expected an expression, got {}", describe(current())));
  return make_display(line, false, std::move(items));
}

ExpressionPtr ExpressionParser::parse_expression() {
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

ExpressionPtr ExpressionParser::parse_or() {
  ExpressionPtr left = parse_and();
  for (int line = current().line; accept_word("or"); line = current().line) {
    left = make_logical(line, false, std::move(left), parse_and());
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_and() {
  ExpressionPtr left = parse_not();
  for (int line = current().line; accept_word("and"); line = current().line) {
    left = make_logical(line, true, std::move(left), parse_not());
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_not() {
  if (!is_word("not")) return parse_comparison();
  const Nesting nesting(*this);
  const int line = next().line;
  ExpressionPtr operand = parse_not();
  const int height = operand->height;
  return make(line, height, Not{std::move(operand)});
}

std::optional<Relation> ExpressionParser::accept_relation() {
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

ExpressionPtr ExpressionParser::parse_comparison() {
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

ExpressionPtr ExpressionParser::parse_sum() {
  ExpressionPtr left = parse_concatenation();
  while (is_symbol("+") || is_symbol("-")) {
    const int line = current().line;
    const BinaryOperator op = next().text == "+" ? BinaryOperator::add : BinaryOperator::subtract;
    left = make_binary(line, op, std::move(left), parse_concatenation());
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_concatenation() {
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

ExpressionPtr ExpressionParser::parse_product() {
  constexpr std::pair<std::string_view, BinaryOperator> kOperators[] = {{"*", BinaryOperator::multiply},
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

ExpressionPtr ExpressionParser::parse_power() {
  ExpressionPtr left = parse_unary();
  while (is_symbol("**")) {
    const int line = next().line;
    left = make_binary(line, BinaryOperator::power, std::move(left), parse_unary());
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_unary(bool with_filters) {
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

ExpressionPtr ExpressionParser::parse_primary() {
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

ExpressionPtr ExpressionParser::parse_name() {
  const Token& token = next();
  const std::string& name = token.text;
  if (name == "true" || name == "True") return make(token.line, 0, Constant{Value::boolean(true)});
  if (name == "false" || name == "False") return make(token.line, 0, Constant{Value::boolean(false)});
  if (name == "none" || name == "None") return make(token.line, 0, Constant{Value()});
  return make(token.line, 0, Name{symbol(name)});
}

ExpressionPtr ExpressionParser::parse_list(int line) {
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

ExpressionPtr ExpressionParser::parse_dict(int line) {
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

ExpressionPtr ExpressionParser::parse_postfix(ExpressionPtr node) {
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

ExpressionPtr ExpressionParser::parse_attribute(ExpressionPtr object) {
  const int line = next().line;
  const int height = object->height;
  if (is(Type::name)) return make(line, height, Attribute{std::move(object), next().text});
  if (!is(Type::number) || !current().number.is(Kind::integer)) {
    fail(fmt::format("expected a name or a whole number behind '.', got {}", describe(current())));
  }
  return make(line, height, Item{std::move(object), make(line, 0, Constant{next().number})});
}

ExpressionPtr ExpressionParser::parse_subscript(ExpressionPtr object) {
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

ExpressionPtr ExpressionParser::parse_slice(int line, ExpressionPtr object, ExpressionPtr start) {
  expect_symbol(":");
  Slice node{std::move(object), std::move(start), nullptr, nullptr};
  if (!is_symbol(":") && !is_symbol("]")) node.stop = parse_expression();
  if (accept_symbol(":") && !is_symbol("]")) node.step = parse_expression();
  expect_symbol("]");
  const int height =
      std::max({height_of(node.object), height_of(node.start), height_of(node.stop), height_of(node.step)});
  return make(line, height, std::move(node));
}

ExpressionPtr ExpressionParser::parse_call(ExpressionPtr callee) {
  const int line = current().line;
  CallArguments arguments = parse_arguments();
  const int height = std::max(callee->height, height_of(arguments));
  return make(line, height, Call{std::move(callee), std::move(arguments)});
}

CallArguments ExpressionParser::parse_arguments() {
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

void ExpressionParser::parse_named_argument(CallArguments& arguments) {
  const Token& token = next();
  next();
  for (const auto& argument : arguments.named) {
    if (argument.first == token.text) {
      fail_at(token.line, fmt::format("the argument '{}' is given twice", token.text));
    }
  }
  arguments.named.emplace_back(token.text, parse_expression());
}

ExpressionPtr ExpressionParser::parse_filters_and_tests(ExpressionPtr node) {
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

ExpressionPtr ExpressionParser::parse_filters(ExpressionPtr node) {
  while (accept_symbol("|")) node = parse_filter(std::move(node));
  return node;
}

std::string ExpressionParser::parse_dotted_name() {
  std::string name = expect_name();
  while (accept_symbol(".")) name += "." + expect_name();
  return name;
}

ExpressionPtr ExpressionParser::parse_filter(ExpressionPtr input) {
  const int line = current().line;
  FilterCall node{std::move(input), parse_dotted_name(), {}};
  if (is_symbol("(")) node.arguments = parse_arguments();
  const int height = std::max(height_of(node.input), height_of(node.arguments));
  return make(line, height, std::move(node));
}

bool ExpressionParser::begins_test_argument() const {
  if (is_any_word({"else", "or", "and"})) return false;
  return is(Type::name) || is(Type::string) || is(Type::number) || is_symbol("[") || is_symbol("{");
}

ExpressionPtr ExpressionParser::parse_test(ExpressionPtr input) {
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

}  // namespace indexshare::jinja
