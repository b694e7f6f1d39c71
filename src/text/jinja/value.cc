#include "text/jinja/value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <compare>
#include <functional>

#include "base/error.h"
#include "text/jinja/unicode.h"

namespace indexshare::jinja {
namespace {

constexpr int64_t kIndexedDictSize = 8;  // smaller dicts are searched from front to back

int checked_depth(int children) {
  if (children >= kMaxValueDepth)
    fail(fmt::format("a value is nested deeper than {} levels", kMaxValueDepth));
  return children + 1;
}

size_t mix(size_t seed, size_t next) {
  return seed ^ (next + size_t{0x9e3779b97f4a7c15u} + (seed << 6) + (seed >> 2));
}

// A number as the widest type that is exact for it: long double holds any 64-bit integer.
std::optional<long double> number(const Value& value) {
  switch (value.kind()) {
    case Kind::boolean: return value.as_boolean() ? 1 : 0;
    case Kind::integer: return static_cast<long double>(value.as_integer());
    case Kind::big_integer: return static_cast<long double>(value.as_big_integer());
    case Kind::real: return value.as_real();
    default: return std::nullopt;
  }
}

template <typename T>
bool in_order(Order order, const T& a, const T& b) {
  switch (order) {
    case Order::less: return a < b;
    case Order::less_equal: return a <= b;
    case Order::greater: return a > b;
    case Order::greater_equal: return a >= b;
  }
  return false;
}

std::string_view order_sign(Order order) {
  constexpr std::string_view kSigns[] = {"<", "<=", ">", ">="};
  return kSigns[static_cast<size_t>(order)];
}

bool equal_sequences(Budget& budget, const Sequence& a, const Sequence& b) {
  if ((a.type == Sequence::Type::list) != (b.type == Sequence::Type::list)) return false;
  return std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(),
                    [&](const Value& x, const Value& y) { return equal(budget, x, y); });
}

bool equal_dicts(Budget& budget, const Dict& a, const Dict& b) {
  if (a.size() != b.size()) return false;
  return std::all_of(a.entries().begin(), a.entries().end(), [&](const Dict::Entry& entry) {
    const Value* other = b.find(budget, entry.first);
    return other != nullptr && equal(budget, entry.second, *other);
  });
}

void write_joined(Writer& out, const Values& items, int depth) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out << ", ";
    write_repr(out, items[i], depth);
  }
}

void write_dict(Writer& out, const Dict& dict, int depth) {
  out << "{";
  bool first = true;
  for (const auto& [key, value] : dict.entries()) {
    if (!first) out << ", ";
    first = false;
    write_repr(out, key, depth);
    out << ": ";
    write_repr(out, value, depth);
  }
  out << "}";
}

void write_sequence(Writer& out, const Sequence& sequence, int depth) {
  const bool list = sequence.type == Sequence::Type::list;
  out << (list ? "[" : "(");
  write_joined(out, sequence.items, depth);
  out << (list ? "]" : sequence.items.size() == 1 ? ",)" : ")");
}

int depth_over(const Values& parts) {
  int depth = 0;
  for (const Value& part : parts) depth = std::max(depth, part.depth());
  return checked_depth(depth);
}

std::shared_ptr<const Sequence> shared_sequence(Sequence::Type type, Values items) {
  const int depth = depth_over(items);
  return std::make_shared<const Sequence>(Sequence{type, std::move(items), depth});
}

}  // namespace

void fail(std::string message) {
  throw Failure{std::move(message)};
}

void Budget::fail(std::string_view what, int64_t limit) {
  jinja::fail(fmt::format("the template needs more than the allowed {} {}", limit, what));
}

void Writer::repeat(std::string_view part, int64_t count) {
  if (count <= 0 || part.empty()) return;
  int64_t total = 0;
  if (__builtin_mul_overflow(static_cast<int64_t>(part.size()), count, &total))
    fail("a repeated text is too long");
  budget_.bytes(total);
  for (int64_t i = 0; i < count; ++i) text_ += part;
}

Value Value::undefined(std::string message) {
  return Value(Payload(std::make_shared<const Undefined>(Undefined{std::move(message)})));
}

Value Value::unsigned_integer(uint64_t value) {
  if (value <= static_cast<uint64_t>(INT64_MAX)) return integer(static_cast<int64_t>(value));
  return Value(Payload(value));
}

Value Value::string(std::string text, bool safe) {
  const int64_t length = count_code_points(text);
  return Value(Payload(std::make_shared<const String>(String{std::move(text), safe, length})));
}

Value Value::list(Values items) {
  return Value(Payload(shared_sequence(Sequence::Type::list, std::move(items))));
}

Value Value::tuple(Values items) {
  return Value(Payload(shared_sequence(Sequence::Type::tuple, std::move(items))));
}

Value Value::group(Value grouper, Value list) {
  return Value(Payload(shared_sequence(Sequence::Type::group, {std::move(grouper), std::move(list)})));
}

Value Value::dict(Dict dict) {
  checked_depth(dict.depth());
  return Value(Payload(std::make_shared<const Dict>(std::move(dict))));
}

int Value::depth() const {
  if (is(Kind::sequence)) return as_sequence().depth;
  if (is(Kind::dict)) return as_dict().depth() + 1;
  if (is(Kind::object)) return as_object()->depth();
  return 0;
}

bool Value::is_list() const {
  return is(Kind::sequence) && as_sequence().type == Sequence::Type::list;
}
bool Value::is_tuple() const {
  return is(Kind::sequence) && as_sequence().type != Sequence::Type::list;
}

std::optional<int64_t> Value::index() const {
  if (is(Kind::integer)) return as_integer();
  if (is(Kind::boolean)) return as_boolean() ? 1 : 0;
  return std::nullopt;
}

const Value* Dict::find(std::string_view key) const {
  const auto place = lookup(std::hash<std::string_view>{}(key), [&](const Value& other) {
    return other.is(Kind::string) && other.text() == key;
  });
  return place ? &entries_[*place].second : nullptr;
}

const Value* Dict::find(Budget& budget, const Value& key) const {
  const auto place = lookup(hash(budget, key), [&](const Value& other) { return equal(budget, other, key); });
  return place ? &entries_[*place].second : nullptr;
}

template <typename Equals>
std::optional<size_t> Dict::lookup(size_t hash, Equals equals) const {
  if (index_.empty()) {
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (equals(entries_[i].first)) return i;
    }
    return std::nullopt;
  }
  const auto [begin, end] = index_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (equals(entries_[it->second].first)) return it->second;
  }
  return std::nullopt;
}

void Dict::set(Budget& budget, Value key, Value value) {
  const size_t key_hash = hash(budget, key);
  const auto place = lookup(key_hash, [&](const Value& other) { return equal(budget, other, key); });
  if (!place) return append(key_hash, std::move(key), std::move(value));
  depth_ = std::max(depth_, value.depth());
  entries_[*place].second = std::move(value);
}

void Dict::set(std::string key, Value value) {
  const size_t key_hash = std::hash<std::string_view>{}(key);
  const auto place =
      lookup(key_hash, [&](const Value& other) { return other.is(Kind::string) && other.text() == key; });
  if (!place) return append(key_hash, Value::string(std::move(key)), std::move(value));
  depth_ = std::max(depth_, value.depth());
  entries_[*place].second = std::move(value);
}

void Dict::append(size_t hash, Value key, Value value) {
  depth_ = std::max({depth_, key.depth(), value.depth()});
  entries_.emplace_back(std::move(key), std::move(value));
  hashes_.push_back(hash);
  if (!index_.empty()) {
    index_.emplace(hash, entries_.size() - 1);
  } else if (size() > kIndexedDictSize) {
    for (size_t i = 0; i < hashes_.size(); ++i) index_.emplace(hashes_[i], i);
  }
}

std::string_view type_name(const Value& value) {
  switch (value.kind()) {
    case Kind::none: return "NoneType";
    case Kind::undefined: return "Undefined";
    case Kind::boolean: return "bool";
    case Kind::integer:
    case Kind::big_integer: return "int";
    case Kind::real: return "float";
    case Kind::string: return value.as_string().safe ? "Markup" : "str";
    case Kind::sequence: return value.is_list() ? "list" : "tuple";
    case Kind::dict: return "dict";
    case Kind::object: return value.as_object()->type_name();
  }
  return "";
}

bool truthy(const Value& value) {
  switch (value.kind()) {
    case Kind::none:
    case Kind::undefined: return false;
    case Kind::boolean: return value.as_boolean();
    case Kind::integer: return value.as_integer() != 0;
    case Kind::big_integer: return true;
    case Kind::real: return value.as_real() != 0;
    case Kind::string: return !value.text().empty();
    case Kind::sequence: return !value.as_sequence().items.empty();
    case Kind::dict: return value.as_dict().size() > 0;
    case Kind::object: return value.as_object()->length().value_or(1) != 0;
  }
  return false;
}

bool equal(Budget& budget, const Value& a, const Value& b) {
  budget.step();
  if (a.same(b)) return !a.is(Kind::real) || !std::isnan(a.as_real());
  const auto x = number(a), y = number(b);
  if (x && y) return *x == *y;
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::none:
    case Kind::undefined: return true;
    case Kind::string:
      budget.step(static_cast<int64_t>(std::min(a.text().size(), b.text().size()) >> 6));
      return a.text() == b.text();
    case Kind::sequence: return equal_sequences(budget, a.as_sequence(), b.as_sequence());
    case Kind::dict: return equal_dicts(budget, a.as_dict(), b.as_dict());
    case Kind::object: return a.as_object()->equals(budget, *b.as_object());
    default: return false;
  }
}

size_t hash(Budget& budget, const Value& value) {
  budget.step();
  switch (value.kind()) {
    case Kind::none: return 1;
    case Kind::undefined: return 2;
    case Kind::boolean:
    case Kind::integer:
    case Kind::big_integer:
    case Kind::real: return std::hash<long double>{}(*number(value));
    case Kind::string:
      budget.step(static_cast<int64_t>(value.text().size() >> 6));
      return std::hash<std::string_view>{}(value.text());
    case Kind::object:
      if (value.as_object()->hashable()) return std::hash<const Object*>{}(value.as_object().get());
      break;
    case Kind::sequence:
      if (value.is_tuple()) {
        size_t seed = 3;
        for (const Value& item : value.as_sequence().items) seed = mix(seed, hash(budget, item));
        return seed;
      }
      break;
    case Kind::dict: break;
  }
  fail(fmt::format("unhashable type: '{}'", type_name(value)));
}

bool ordered(Budget& budget, Order order, const Value& a, const Value& b) {
  budget.step();
  const auto x = number(a), y = number(b);
  if (x && y) return in_order(order, *x, *y);
  if (a.is(Kind::undefined)) fail(a.as_undefined().message);
  if (b.is(Kind::undefined)) fail(b.as_undefined().message);
  if (a.is(Kind::string) && b.is(Kind::string)) {
    budget.step(static_cast<int64_t>(std::min(a.text().size(), b.text().size()) >> 6));
    // UTF-8 sorts like its code points.
    return in_order(order, a.text(), b.text());
  }
  if ((a.is_list() && b.is_list()) || (a.is_tuple() && b.is_tuple())) {
    const Values& left = a.as_sequence().items;
    const Values& right = b.as_sequence().items;
    const size_t common = std::min(left.size(), right.size());
    for (size_t i = 0; i < common; ++i) {
      if (!equal(budget, left[i], right[i])) return ordered(budget, order, left[i], right[i]);
    }
    return in_order(order, left.size(), right.size());
  }
  fail(fmt::format("'{}' not supported between instances of '{}' and '{}'", order_sign(order), type_name(a),
                   type_name(b)));
}

std::string real_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  // The shortest digits that read back as the same number, laid out as Python does.
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  std::string_view shortest(buffer, static_cast<size_t>(end - buffer));
  std::string out;
  if (shortest.front() == '-') {
    out += '-';
    shortest.remove_prefix(1);
  }
  const size_t e = shortest.find('e');
  int exponent = 0;
  const char* first = shortest.data() + e + 1;
  std::from_chars(*first == '+' ? first + 1 : first, end, exponent);
  std::string digits(1, shortest.front());
  if (e > 1) digits += shortest.substr(2, e - 2);

  const int count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    out += digits[0];
    if (count > 1) out += "." + digits.substr(1);
    return out + fmt::format("e{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0) return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  if (exponent >= count - 1)
    return out + digits + std::string(static_cast<size_t>(exponent - count + 1), '0') + ".0";
  const auto whole = static_cast<size_t>(exponent + 1);
  return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

void write_str(Writer& out, const Value& value) {
  if (value.is(Kind::string)) {
    out << value.text();
  } else if (!value.is(Kind::undefined)) {
    write_repr(out, value);
  }
}

void write_repr(Writer& out, const Value& value, int depth) {
  out.budget().step();
  // Lists end at kMaxValueDepth by themselves; namespaces that hold one another do not.
  if (depth > 2 * kMaxValueDepth) fail("a value is nested too deeply to be printed");
  switch (value.kind()) {
    case Kind::none: out << "None"; break;
    case Kind::undefined: out << "Undefined"; break;
    case Kind::boolean: out << (value.as_boolean() ? "True" : "False"); break;
    case Kind::integer: out << fmt::format("{}", value.as_integer()); break;
    case Kind::big_integer: out << fmt::format("{}", value.as_big_integer()); break;
    case Kind::real: out << real_repr(value.as_real()); break;
    case Kind::string: {
      const std::string text = quote_text(value.text());
      value.as_string().safe ? out << "Markup(" << text << ")" : out << text;
      break;
    }
    case Kind::sequence: write_sequence(out, value.as_sequence(), depth + 1); break;
    case Kind::dict: write_dict(out, value.as_dict(), depth + 1); break;
    case Kind::object: value.as_object()->write_repr(out, depth + 1); break;
  }
}

std::string str(Budget& budget, const Value& value) {
  Writer out(budget);
  write_str(out, value);
  return out.take();
}

std::string repr(Budget& budget, const Value& value) {
  Writer out(budget);
  write_repr(out, value);
  return out.take();
}

Object::Object(const Values& parts) : depth_(depth_over(parts)) {}
void Object::write_repr(Writer& out, int) {
  out << "<" << type_name() << " object>";
}
std::optional<Value> Object::attribute(Interpreter&, std::string_view) {
  return std::nullopt;
}
std::optional<Value> Object::item(Interpreter&, const Value&) {
  return std::nullopt;
}
std::optional<Values> Object::iterate(Interpreter&) {
  return std::nullopt;
}

Value Object::call(Interpreter&, Arguments) {
  fail(fmt::format("'{}' object is not callable", type_name()));
}

}  // namespace indexshare::jinja
