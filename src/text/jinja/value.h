// The values of a template: Python's, as far as Jinja shows them. Values are immutable and shared, except
// objects (namespaces, loops, cyclers), so lists and dicts never form a cycle and nest to a bounded depth.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "text/jinja/budget.h"

namespace indexshare::jinja {

class Dict;
class Interpreter;
class Object;
class Value;
struct Sequence;

enum class Kind : uint8_t {
  none,
  undefined,
  boolean,
  integer,
  big_integer,  // above int64: kept exactly for printing and comparing, arithmetic refuses it
  real,
  string,
  sequence,  // a list or a tuple
  dict,
  object,
};

/// UTF-8 text. `safe` marks what |escape and |safe return: HTML that `+`, `%` and join do not escape again.
struct String {
  std::string text;
  bool safe = false;
  int64_t length = 0;  // in code points
};

/// Why a name or attribute is undefined; raised when it is used in a way that jinja2 forbids.
struct Undefined {
  std::string message;
};

class Value {
 public:
  Value() = default;  // None

  static Value undefined(std::string message);
  static Value boolean(bool value) { return Value(Payload(value)); }
  static Value integer(int64_t value) { return Value(Payload(value)); }
  static Value unsigned_integer(uint64_t value);
  static Value real(double value) { return Value(Payload(value)); }
  static Value string(std::string text, bool safe = false);
  static Value list(std::vector<Value> items);
  static Value tuple(std::vector<Value> items);
  static Value group(Value grouper, Value list);  // what groupby yields: a tuple with two named fields
  static Value dict(Dict dict);
  static Value object(std::shared_ptr<Object> object) { return Value(Payload(std::move(object))); }

  Kind kind() const { return static_cast<Kind>(payload_.index()); }
  bool is(Kind kind_asked) const { return kind() == kind_asked; }
  bool is_list() const;
  bool is_tuple() const;

  bool as_boolean() const { return std::get<bool>(payload_); }
  int64_t as_integer() const { return std::get<int64_t>(payload_); }
  uint64_t as_big_integer() const { return std::get<uint64_t>(payload_); }
  double as_real() const { return std::get<double>(payload_); }
  const String& as_string() const { return *std::get<std::shared_ptr<const String>>(payload_); }
  const std::string& text() const { return as_string().text; }
  const Sequence& as_sequence() const { return *std::get<std::shared_ptr<const Sequence>>(payload_); }
  const Dict& as_dict() const { return *std::get<std::shared_ptr<const Dict>>(payload_); }
  const std::shared_ptr<Object>& as_object() const { return std::get<std::shared_ptr<Object>>(payload_); }
  const Undefined& as_undefined() const { return *std::get<std::shared_ptr<const Undefined>>(payload_); }

  /// The integer that a bool or an int is.
  std::optional<int64_t> index() const;
  /// The object as a T, null when it is anything else.
  template <typename T>
  T* object_as() const {
    return is(Kind::object) ? dynamic_cast<T*>(as_object().get()) : nullptr;
  }
  /// Python's `is`.
  bool same(const Value& other) const { return payload_ == other.payload_; }
  int depth() const;

 private:
  using Payload = std::variant<std::monostate, std::shared_ptr<const Undefined>, bool, int64_t, uint64_t,
                               double, std::shared_ptr<const String>, std::shared_ptr<const Sequence>,
                               std::shared_ptr<const Dict>, std::shared_ptr<Object>>;
  explicit Value(Payload payload) : payload_(std::move(payload)) {}

  Payload payload_;
};

using Values = std::vector<Value>;

struct Sequence {
  enum class Type : uint8_t { list, tuple, group };
  Type type = Type::list;
  Values items;
  int depth = 1;
};

/// Keeps insertion order. Keys compare as in Python (1, 1.0 and True are one key).
class Dict {
 public:
  using Entry = std::pair<Value, Value>;

  const Value* find(Budget& budget, const Value& key) const;
  const Value* find(std::string_view key) const;
  void set(Budget& budget, Value key, Value value);
  void set(std::string key, Value value);
  const std::vector<Entry>& entries() const { return entries_; }
  int64_t size() const { return static_cast<int64_t>(entries_.size()); }
  int depth() const { return depth_; }  // of the deepest key or value

 private:
  template <typename Equals>
  std::optional<size_t> lookup(size_t hash, Equals equals) const;
  void append(size_t hash, Value key, Value value);

  std::vector<Entry> entries_;
  std::vector<size_t> hashes_;                     // of the keys
  std::unordered_multimap<size_t, size_t> index_;  // hash -> place in entries_; empty for a small dict
  int depth_ = 0;
};

/// The arguments of a call as written; `named` keeps their order.
struct Arguments {
  Values positional;
  std::vector<std::pair<std::string, Value>> named;
};

/// Everything that is not plain data. A nullopt stands for "has none" (Python's AttributeError or TypeError).
class Object : public std::enable_shared_from_this<Object> {
 public:
  virtual ~Object() = default;
  /// Nesting of the values it was made of, so that chains of objects are bounded like nested lists.
  int depth() const { return depth_; }
  virtual std::string_view type_name() const = 0;
  virtual void write_repr(Writer& out, int depth);
  virtual std::optional<Value> attribute(Interpreter& interpreter, std::string_view name);
  virtual std::optional<Value> item(Interpreter& interpreter, const Value& key);
  virtual std::optional<int64_t> length() { return std::nullopt; }
  virtual std::optional<Values> iterate(Interpreter& interpreter);
  virtual bool equals(Budget&, const Object& other) const { return this == &other; }
  virtual bool hashable() const { return true; }
  virtual bool callable() const { return false; }
  virtual Value call(Interpreter& interpreter, Arguments arguments);

 protected:
  Object() = default;
  explicit Object(const Values& parts);

 private:
  int depth_ = 0;
};

[[noreturn]] void fail(std::string message);

/// "str", "int", "list": type(value).__name__.
std::string_view type_name(const Value& value);
bool truthy(const Value& value);
bool equal(Budget& budget, const Value& a, const Value& b);
/// Fails for what has no hash (lists, dicts), as a key or in a set.
size_t hash(Budget& budget, const Value& value);

enum class Order : uint8_t { less, less_equal, greater, greater_equal };
/// Python's `<` and its siblings; fails for types without an order.
bool ordered(Budget& budget, Order order, const Value& a, const Value& b);

void write_str(Writer& out, const Value& value);
void write_repr(Writer& out, const Value& value, int depth = 0);
std::string str(Budget& budget, const Value& value);
std::string repr(Budget& budget, const Value& value);
std::string real_repr(double value);

}  // namespace indexshare::jinja
