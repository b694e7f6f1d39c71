#include "text/jinja/tests.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "text/jinja/arguments.h"
#include "text/jinja/filters.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/operators.h"
#include "text/jinja/unicode.h"

namespace indexshare::jinja {
namespace {

void no_arguments(Arguments arguments) {
  const Parameters parameters("test", std::move(arguments), {});
}

template <bool (*predicate)(const Value&)>
bool simple(Interpreter&, const Value& value, Arguments arguments) {
  no_arguments(std::move(arguments));
  return predicate(value);
}

bool is_defined(const Value& value) {
  return !value.is(Kind::undefined);
}
bool is_undefined(const Value& value) {
  return value.is(Kind::undefined);
}
bool is_none(const Value& value) {
  return value.is(Kind::none);
}
bool is_boolean(const Value& value) {
  return value.is(Kind::boolean);
}
bool is_true(const Value& value) {
  return is_boolean(value) && value.as_boolean();
}
bool is_false(const Value& value) {
  return is_boolean(value) && !value.as_boolean();
}
bool is_integer(const Value& value) {
  return value.is(Kind::integer) || value.is(Kind::big_integer);
}
bool is_float(const Value& value) {
  return value.is(Kind::real);
}
bool is_number(const Value& value) {
  return is_boolean(value) || is_integer(value) || is_float(value);
}
bool is_string(const Value& value) {
  return value.is(Kind::string);
}
bool is_mapping(const Value& value) {
  return value.is(Kind::dict);
}
bool is_escaped(const Value& value) {
  return value.is(Kind::string) && value.as_string().safe;
}
bool is_callable(const Value& value) {
  // An undefined value has __call__, which raises.
  return value.is(Kind::undefined) || (value.is(Kind::object) && value.as_object()->callable());
}
bool is_sequence(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined:
    case Kind::string:
    case Kind::sequence:
    case Kind::dict: return true;
    case Kind::object: return value.as_object()->type_name() == "range";
    default: return false;
  }
}

template <int rest>
bool leaves(Interpreter& interpreter, const Value& value, Arguments arguments) {
  no_arguments(std::move(arguments));
  const Value remainder = apply(interpreter, BinaryOperator::modulo, value, Value::integer(2));
  return equal(interpreter.budget(), remainder, Value::integer(rest));
}

bool is_divisible(Interpreter& interpreter, const Value& value, Arguments arguments) {
  const Parameters parameters("divisibleby", std::move(arguments), {"num"}, 1);
  const Value remainder = apply(interpreter, BinaryOperator::modulo, value, parameters[0]);
  return equal(interpreter.budget(), remainder, Value::integer(0));
}

template <Relation relation>
bool relates(Interpreter& interpreter, const Value& value, Arguments arguments) {
  const Parameters parameters("test", std::move(arguments), {""}, 1);
  return holds(interpreter, relation, value, parameters[0]);
}

bool is_in(Interpreter& interpreter, const Value& value, Arguments arguments) {
  const Parameters parameters("in", std::move(arguments), {"seq"}, 1);
  return contains(interpreter, parameters[0], value);
}

bool is_same_as(Interpreter&, const Value& value, Arguments arguments) {
  const Parameters parameters("sameas", std::move(arguments), {"other"}, 1);
  return value.same(parameters[0]);
}

// str.islower() and str.isupper(): some letter has that case and none the other.
bool has_case(Interpreter& interpreter, const Value& value, bool (*wanted)(char32_t),
              bool (*other)(char32_t)) {
  const std::string text = str(interpreter.budget(), value);
  bool found = false;
  for (size_t i = 0; i < text.size();) {
    const char32_t c = decode(text, i);
    if (other(c) || is_title(c)) return false;
    found = found || wanted(c);
  }
  return found;
}

bool is_lowercase(Interpreter& interpreter, const Value& value, Arguments arguments) {
  no_arguments(std::move(arguments));
  return has_case(interpreter, value, is_lower, is_upper);
}

bool is_uppercase(Interpreter& interpreter, const Value& value, Arguments arguments) {
  no_arguments(std::move(arguments));
  return has_case(interpreter, value, is_upper, is_lower);
}

bool is_filter(Interpreter& interpreter, const Value& value, Arguments arguments) {
  no_arguments(std::move(arguments));
  hash(interpreter.budget(), value);  // fails for a list, which is no key of a table
  return value.is(Kind::string) && find_filter(value.text()) != nullptr;
}

bool is_test(Interpreter& interpreter, const Value& value, Arguments arguments) {
  no_arguments(std::move(arguments));
  hash(interpreter.budget(), value);
  return value.is(Kind::string) && find_test(value.text()) != nullptr;
}

constexpr std::pair<std::string_view, Test> kTests[] = {
    {"!=", relates<Relation::not_equal>},
    {"<", relates<Relation::less>},
    {"<=", relates<Relation::less_equal>},
    {"==", relates<Relation::equal>},
    {">", relates<Relation::greater>},
    {">=", relates<Relation::greater_equal>},
    {"boolean", simple<is_boolean>},
    {"callable", simple<is_callable>},
    {"defined", simple<is_defined>},
    {"divisibleby", is_divisible},
    {"eq", relates<Relation::equal>},
    {"equalto", relates<Relation::equal>},
    {"escaped", simple<is_escaped>},
    {"even", leaves<0>},
    {"false", simple<is_false>},
    {"filter", is_filter},
    {"float", simple<is_float>},
    {"ge", relates<Relation::greater_equal>},
    {"greaterthan", relates<Relation::greater>},
    {"gt", relates<Relation::greater>},
    {"in", is_in},
    {"integer", simple<is_integer>},
    {"iterable", simple<is_iterable>},
    {"le", relates<Relation::less_equal>},
    {"lessthan", relates<Relation::less>},
    {"lower", is_lowercase},
    {"lt", relates<Relation::less>},
    {"mapping", simple<is_mapping>},
    {"ne", relates<Relation::not_equal>},
    {"none", simple<is_none>},
    {"number", simple<is_number>},
    {"odd", leaves<1>},
    {"sameas", is_same_as},
    {"sequence", simple<is_sequence>},
    {"string", simple<is_string>},
    {"test", is_test},
    {"true", simple<is_true>},
    {"undefined", simple<is_undefined>},
    {"upper", is_uppercase},
};

}  // namespace

Test find_test(std::string_view name) {
  const auto* found = std::find_if(std::begin(kTests), std::end(kTests),
                                   [&](const auto& entry) { return entry.first == name; });
  return found != std::end(kTests) ? found->second : nullptr;
}

}  // namespace indexshare::jinja
