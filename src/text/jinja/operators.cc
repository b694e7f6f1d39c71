#include "text/jinja/operators.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "text/jinja/format.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/methods.h"
#include "text/jinja/objects.h"
#include "text/jinja/unicode.h"

namespace indexshare::jinja {
namespace {

std::string_view sign(BinaryOperator op) {
  constexpr std::string_view kSigns[] = {"+", "-", "*", "/", "//", "%", "** or pow()"};
  return kSigns[static_cast<size_t>(op)];
}

[[noreturn]] void fail_operands(BinaryOperator op, const Value& a, const Value& b) {
  for (const Value* value : {&a, &b}) {
    if (value->is(Kind::undefined)) fail(value->as_undefined().message);
    if (value->is(Kind::big_integer))
      fail("an integer above 64 bits can be printed, but not calculated with");
  }
  fail(
      fmt::format("unsupported operand type(s) for {}: '{}' and '{}'", sign(op), type_name(a), type_name(b)));
}

[[noreturn]] void fail_overflow() {
  fail("an integer does not fit 64 bits");
}

std::optional<double> real(const Value& value) {
  if (const auto i = value.index()) return static_cast<double>(*i);
  if (value.is(Kind::real)) return value.as_real();
  return std::nullopt;
}

int64_t floor_divide(int64_t a, int64_t b) {
  if (b == 0) fail("integer division or modulo by zero");
  if (b == -1) return checked_multiply(a, -1);
  const int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

int64_t modulo(int64_t a, int64_t b) {
  if (b == 0) fail("integer division or modulo by zero");
  if (b == -1) return 0;
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

int64_t integer_power(int64_t base, int64_t exponent) {
  if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  int64_t result = 1;
  for (int64_t i = 0; i < exponent; ++i) result = checked_multiply(result, base);  // at most 63 turns
  return result;
}

double real_modulo(double a, double b) {
  if (b == 0) fail("float modulo by zero");
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

double real_floor_divide(double a, double b) {
  if (b == 0) fail("float floor division by zero");
  // Through the remainder, because floor(a / b) rounds twice.
  const double quotient = (a - real_modulo(a, b)) / b;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double floor = std::floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

double real_power(double a, double b) {
  if (a == 0 && b < 0) fail("0.0 cannot be raised to a negative power");
  if (a < 0 && std::isfinite(a) && std::isfinite(b) && b != std::floor(b)) {
    fail("a negative number raised to a fraction is complex, which is not supported");
  }
  const double result = std::pow(a, b);
  if (std::isinf(result) && std::isfinite(a) && std::isfinite(b)) fail("the result of ** is out of range");
  return result;
}

Value apply_integers(BinaryOperator op, int64_t a, int64_t b) {
  switch (op) {
    case BinaryOperator::add: return Value::integer(checked_add(a, b));
    case BinaryOperator::subtract: {
      int64_t difference = 0;
      if (__builtin_sub_overflow(a, b, &difference)) fail_overflow();
      return Value::integer(difference);
    }
    case BinaryOperator::multiply: return Value::integer(checked_multiply(a, b));
    case BinaryOperator::divide:
      if (b == 0) fail("division by zero");
      return Value::real(static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b)));
    case BinaryOperator::floor_divide: return Value::integer(floor_divide(a, b));
    case BinaryOperator::modulo: return Value::integer(modulo(a, b));
    case BinaryOperator::power:
      if (b < 0) return Value::real(real_power(static_cast<double>(a), static_cast<double>(b)));
      return Value::integer(integer_power(a, b));
  }
  return {};
}

Value apply_reals(BinaryOperator op, double a, double b) {
  switch (op) {
    case BinaryOperator::add: return Value::real(a + b);
    case BinaryOperator::subtract: return Value::real(a - b);
    case BinaryOperator::multiply: return Value::real(a * b);
    case BinaryOperator::divide:
      if (b == 0) fail("float division by zero");
      return Value::real(a / b);
    case BinaryOperator::floor_divide: return Value::real(real_floor_divide(a, b));
    case BinaryOperator::modulo: return Value::real(real_modulo(a, b));
    case BinaryOperator::power: return Value::real(real_power(a, b));
  }
  return {};
}

Value concatenate(Interpreter& interpreter, const Value& a, const Value& b) {
  Budget& budget = interpreter.budget();
  if (a.is(Kind::string) && b.is(Kind::string)) {
    const bool safe = a.as_string().safe || b.as_string().safe;
    Writer out(budget);
    out << (safe ? escape(budget, a).text() : a.text()) << (safe ? escape(budget, b).text() : b.text());
    return Value::string(out.take(), safe);
  }
  Values items = a.as_sequence().items;
  const Values& more = b.as_sequence().items;
  budget.bytes(static_cast<int64_t>((items.size() + more.size()) * sizeof(Value)));
  items.insert(items.end(), more.begin(), more.end());
  return a.is_list() ? Value::list(std::move(items)) : Value::tuple(std::move(items));
}

Value repeat(Budget& budget, const Value& value, int64_t count) {
  count = std::max<int64_t>(count, 0);
  if (value.is(Kind::string)) {
    Writer out(budget);
    out.repeat(value.text(), count);
    return Value::string(out.take(), value.as_string().safe);
  }
  const Values& items = value.as_sequence().items;
  const int64_t total = checked_multiply(static_cast<int64_t>(items.size()), count);
  budget.bytes(checked_multiply(total, sizeof(Value)));
  Values repeated;
  repeated.reserve(static_cast<size_t>(total));
  while (static_cast<int64_t>(repeated.size()) < total)
    repeated.insert(repeated.end(), items.begin(), items.end());
  return value.is_list() ? Value::list(std::move(repeated)) : Value::tuple(std::move(repeated));
}

bool is_repeatable(const Value& value) {
  return value.is(Kind::string) || value.is(Kind::sequence);
}

// "'dict object' has no attribute 'x'", as jinja2 says it.
Value missing(const Value& object, std::string_view name, bool is_name) {
  constexpr size_t kShown = 100;
  std::string shown = is_name ? quote_text(name.substr(0, kShown)) : std::string(name.substr(0, kShown));
  const std::string owner = object.is(Kind::none) ? "None" : fmt::format("{} object", type_name(object));
  return Value::undefined(is_name ? fmt::format("'{}' has no attribute {}", owner, shown)
                                  : fmt::format("{} has no element {}", owner, shown));
}

std::optional<Value> find_item(Interpreter& interpreter, const Value& object, const Value& key) {
  if (object.is(Kind::undefined)) fail(object.as_undefined().message);
  if (object.is(Kind::dict)) {
    if (key.is(Kind::dict) || key.is_list()) return std::nullopt;  // not hashable
    const Value* value = object.as_dict().find(interpreter.budget(), key);
    return value != nullptr ? std::optional(*value) : std::nullopt;
  }
  if (object.is(Kind::object)) return object.as_object()->item(interpreter, key);
  auto i = key.index();
  if (!i || !is_repeatable(object)) return std::nullopt;
  const int64_t size = length(object);
  if (*i < 0) *i += size;
  if (*i < 0 || *i >= size) return std::nullopt;
  if (object.is(Kind::sequence)) return object.as_sequence().items[static_cast<size_t>(*i)];
  const std::string& text = object.text();
  interpreter.budget().step(static_cast<int64_t>(text.size() >> 6));
  const bool ascii = static_cast<int64_t>(text.size()) == size;
  const size_t begin = ascii ? static_cast<size_t>(*i) : byte_offset(text, *i);
  size_t end = begin;
  decode(text, end);
  return Value::string(text.substr(begin, end - begin), object.as_string().safe);
}

std::string slice_text(const std::string& text, int64_t length, const SliceRange& range) {
  const bool ascii = static_cast<int64_t>(text.size()) == length;
  const auto offset = [&](int64_t i) { return ascii ? static_cast<size_t>(i) : byte_offset(text, i); };
  if (range.count == 0) return "";
  if (range.step == 1) {
    const size_t begin = offset(range.start);
    return text.substr(begin, offset(range.start + range.count) - begin);
  }
  std::vector<size_t> starts;  // byte of each code point, and the end
  for (size_t i = 0; i < text.size(); decode(text, i)) starts.push_back(i);
  starts.push_back(text.size());
  std::string out;
  for (int64_t k = 0, i = range.start; k < range.count; ++k, i += range.step) {
    const auto at = static_cast<size_t>(i);
    out.append(text, starts[at], starts[at + 1] - starts[at]);
  }
  return out;
}

}  // namespace

int64_t checked_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) fail_overflow();
  return sum;
}

int64_t checked_multiply(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) fail_overflow();
  return product;
}

Value apply(Interpreter& interpreter, BinaryOperator op, const Value& a, const Value& b) {
  if (op == BinaryOperator::modulo && a.is(Kind::string)) return format_percent(interpreter, a, b);
  const auto i = a.index(), j = b.index();
  if (i && j) return apply_integers(op, *i, *j);
  const auto x = real(a), y = real(b);
  if (x && y) return apply_reals(op, *x, *y);
  if (op == BinaryOperator::add) {
    const bool same_sequences = a.is(Kind::sequence) && b.is(Kind::sequence) && a.is_list() == b.is_list();
    if (same_sequences || (a.is(Kind::string) && b.is(Kind::string))) return concatenate(interpreter, a, b);
  }
  if (op == BinaryOperator::multiply) {
    if (is_repeatable(a) && j) return repeat(interpreter.budget(), a, *j);
    if (is_repeatable(b) && i) return repeat(interpreter.budget(), b, *i);
  }
  fail_operands(op, a, b);
}

Value apply(UnaryOperator op, const Value& a) {
  const bool minus = op == UnaryOperator::minus;
  if (const auto i = a.index()) return Value::integer(minus ? checked_multiply(*i, -1) : *i);
  if (a.is(Kind::real)) return Value::real(minus ? -a.as_real() : a.as_real());
  if (a.is(Kind::undefined)) fail(a.as_undefined().message);
  fail(fmt::format("bad operand type for unary {}: '{}'", minus ? '-' : '+', type_name(a)));
}

bool holds(Interpreter& interpreter, Relation relation, const Value& a, const Value& b) {
  Budget& budget = interpreter.budget();
  switch (relation) {
    case Relation::equal: return equal(budget, a, b);
    case Relation::not_equal: return !equal(budget, a, b);
    case Relation::less: return ordered(budget, Order::less, a, b);
    case Relation::less_equal: return ordered(budget, Order::less_equal, a, b);
    case Relation::greater: return ordered(budget, Order::greater, a, b);
    case Relation::greater_equal: return ordered(budget, Order::greater_equal, a, b);
    case Relation::in: return contains(interpreter, b, a);
    case Relation::not_in: return !contains(interpreter, b, a);
  }
  return false;
}

bool contains(Interpreter& interpreter, const Value& haystack, const Value& needle) {
  Budget& budget = interpreter.budget();
  if (haystack.is(Kind::string)) {
    if (!needle.is(Kind::string)) {
      fail(fmt::format("'in <string>' requires string as left operand, not {}", type_name(needle)));
    }
    budget.step(static_cast<int64_t>(haystack.text().size() >> 6));
    return find_bytes(haystack.text(), needle.text()) != std::string::npos;
  }
  if (haystack.is(Kind::dict)) return haystack.as_dict().find(budget, needle) != nullptr;
  if (const auto* range = haystack.object_as<Range>()) return range->contains(needle);
  const auto matches = [&](const Value& item) { return item.same(needle) || equal(budget, item, needle); };
  if (haystack.is(Kind::sequence)) {
    const Values& items = haystack.as_sequence().items;
    return std::any_of(items.begin(), items.end(), matches);
  }
  if (!is_iterable(haystack)) fail(fmt::format("argument of type '{}' is not iterable", type_name(haystack)));
  const Values items = iterate(interpreter, haystack);
  return std::any_of(items.begin(), items.end(), matches);
}

Value get_item(Interpreter& interpreter, const Value& object, const Value& key) {
  if (auto item = find_item(interpreter, object, key)) return *item;
  if (!key.is(Kind::string)) return missing(object, repr(interpreter.budget(), key), false);
  if (auto attribute = find_attribute(interpreter, object, key.text())) return *attribute;
  return missing(object, key.text(), true);
}

Value get_attribute(Interpreter& interpreter, const Value& object, std::string_view name) {
  if (object.is(Kind::undefined)) fail(object.as_undefined().message);
  if (auto attribute = find_attribute(interpreter, object, name)) return *attribute;
  if (object.is(Kind::dict)) {
    if (const Value* value = object.as_dict().find(name)) return *value;
  }
  return missing(object, name, true);
}

std::optional<Value> find_attribute(Interpreter& interpreter, const Value& object, std::string_view name) {
  if (object.is(Kind::object)) return object.as_object()->attribute(interpreter, name);
  if (object.is(Kind::sequence) && object.as_sequence().type == Sequence::Type::group) {
    if (name == "grouper") return object.as_sequence().items[0];
    if (name == "list") return object.as_sequence().items[1];
  }
  return find_method(object, name);
}

SliceRange slice_range(const Value& start, const Value& stop, const Value& step, int64_t length) {
  const auto part = [](const Value& value) -> std::optional<int64_t> {
    if (value.is(Kind::none)) return std::nullopt;
    if (const auto i = value.index()) return i;
    if (value.is(Kind::undefined)) fail(value.as_undefined().message);
    fail("slice indices must be integers or None");
  };
  SliceRange range;
  range.step = part(step).value_or(1);
  if (range.step == 0) fail("slice step cannot be zero");
  range.step = std::max(range.step, -INT64_MAX);
  const bool forward = range.step > 0;
  const int64_t low = forward ? 0 : -1, high = forward ? length : length - 1;
  const auto place = [&](std::optional<int64_t> i, int64_t otherwise) {
    if (!i) return otherwise;
    return *i < 0 ? std::max(*i + length, low) : std::min(*i, high);
  };
  range.start = place(part(start), forward ? low : high);
  const int64_t end = place(part(stop), forward ? high : low);
  const int64_t distance = forward ? end - range.start : range.start - end;
  range.count = distance <= 0 ? 0 : (distance - 1) / std::abs(range.step) + 1;
  // A step beyond the length reaches one element; keeping it small keeps start + count * step in bounds.
  if (range.count <= 1) range.step = forward ? 1 : -1;
  return range;
}

Value slice(Interpreter& interpreter, const Value& object, const Value& start, const Value& stop,
            const Value& step) {
  if (object.is(Kind::undefined)) fail(object.as_undefined().message);
  if (const auto* range = object.object_as<Range>()) return range->slice(start, stop, step);
  if (!is_repeatable(object)) fail(fmt::format("'{}' object cannot be sliced", type_name(object)));
  const int64_t size = length(object);
  const SliceRange range = slice_range(start, stop, step, size);
  Budget& budget = interpreter.budget();
  if (object.is(Kind::string)) {
    budget.bytes(static_cast<int64_t>(object.text().size()));
    return Value::string(slice_text(object.text(), size, range), object.as_string().safe);
  }
  budget.bytes(range.count * static_cast<int64_t>(sizeof(Value)));
  Values items;
  for (int64_t k = 0, i = range.start; k < range.count; ++k, i += range.step) {
    items.push_back(object.as_sequence().items[static_cast<size_t>(i)]);
  }
  return object.is_list() ? Value::list(std::move(items)) : Value::tuple(std::move(items));
}

std::optional<int64_t> find_length(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined: return 0;
    case Kind::string: return value.as_string().length;
    case Kind::sequence: return static_cast<int64_t>(value.as_sequence().items.size());
    case Kind::dict: return value.as_dict().size();
    case Kind::object: return value.as_object()->length();
    default: return std::nullopt;
  }
}

int64_t length(const Value& value) {
  if (const auto count = find_length(value)) return *count;
  fail(fmt::format("object of type '{}' has no len()", type_name(value)));
}

bool is_iterable(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined:
    case Kind::string:
    case Kind::sequence:
    case Kind::dict: return true;
    case Kind::object:
      return value.as_object()->length().has_value() || value.object_as<Generator>() != nullptr;
    default: return false;
  }
}

Values iterate(Interpreter& interpreter, const Value& value) {
  Budget& budget = interpreter.budget();
  if (value.is(Kind::undefined)) return {};
  if (const auto count = find_length(value)) budget.bytes(*count * static_cast<int64_t>(sizeof(Value)));
  switch (value.kind()) {
    case Kind::sequence: return value.as_sequence().items;
    case Kind::dict: {
      Values keys;
      for (const auto& entry : value.as_dict().entries()) keys.push_back(entry.first);
      return keys;
    }
    case Kind::string: {
      Values characters;
      const std::string& text = value.text();
      budget.bytes(static_cast<int64_t>(text.size() * sizeof(String)));
      for (size_t i = 0; i < text.size();) {
        const size_t begin = i;
        decode(text, i);
        characters.push_back(Value::string(text.substr(begin, i - begin)));
      }
      return characters;
    }
    case Kind::object:
      if (auto items = value.as_object()->iterate(interpreter)) return *std::move(items);
      break;
    default: break;
  }
  fail(fmt::format("'{}' object is not iterable", type_name(value)));
}

Value escape(Budget& budget, const Value& value) {
  if (value.is(Kind::string) && value.as_string().safe) return value;
  Writer out(budget);
  for (const char& c : str(budget, value)) {
    switch (c) {
      case '&': out << "&amp;"; break;
      case '<': out << "&lt;"; break;
      case '>': out << "&gt;"; break;
      case '\'': out << "&#39;"; break;
      case '"': out << "&#34;"; break;
      default: out << std::string_view(&c, 1);
    }
  }
  return Value::string(out.take(), true);
}

}  // namespace indexshare::jinja
