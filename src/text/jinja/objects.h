// The built-in object types that a template can hold besides plain data.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "text/jinja/value.h"

namespace indexshare::jinja {

class Range : public Object {
 public:
  Range(int64_t start, int64_t stop, int64_t step);
  std::string_view type_name() const override { return "range"; }
  void write_repr(Writer& out, int depth) override;
  std::optional<Value> item(Interpreter& interpreter, const Value& key) override;
  std::optional<int64_t> length() override { return count_; }
  std::optional<Values> iterate(Interpreter& interpreter) override;
  bool equals(Budget& budget, const Object& other) const override;
  bool contains(const Value& value) const;
  Value slice(const Value& start, const Value& stop, const Value& step) const;

 private:
  int64_t start_, stop_, step_, count_;
};

/// dict.items(), keys() and values().
class DictView : public Object {
 public:
  enum class Part : uint8_t { items, keys, values };
  DictView(Value dict, Part part) : Object({dict}), dict_(std::move(dict)), part_(part) {}
  std::string_view type_name() const override;
  void write_repr(Writer& out, int depth) override;
  std::optional<int64_t> length() override { return dict_.as_dict().size(); }
  bool hashable() const override { return part_ == Part::values; }
  std::optional<Values> iterate(Interpreter& interpreter) override;
  bool equals(Budget& budget, const Object& other) const override;

 private:
  Values values() const;

  Value dict_;
  Part part_;
};

/// What lazy filters (map, select, batch, ...) return: can be visited once, has no length and no items. The
/// filter runs when that happens, so that one whose result is not used does not fail either.
class Generator : public Object {
 public:
  using Source = std::function<Values(Interpreter& interpreter)>;
  /// `parts` are the values that the source holds.
  Generator(const Values& parts, Source source, std::string_view type_name)
      : Object(parts), source_(std::move(source)), type_name_(type_name) {}
  std::string_view type_name() const override { return type_name_; }
  std::optional<Values> iterate(Interpreter& interpreter) override;
  /// Takes one item, as Python's next() does; nullopt at the end.
  std::optional<Value> next(Interpreter& interpreter);

 private:
  void run(Interpreter& interpreter);

  Source source_;  // null once it ran
  Values items_;
  size_t position_ = 0;  // those before it are taken
  std::string_view type_name_;
};

/// namespace(...): the one thing whose attributes a template can set.
class Namespace : public Object {
 public:
  explicit Namespace(Dict attributes) : attributes_(std::move(attributes)) {}
  std::string_view type_name() const override { return "Namespace"; }
  void write_repr(Writer& out, int depth) override;
  std::optional<Value> attribute(Interpreter& interpreter, std::string_view name) override;
  void set(std::string_view name, Value value) { attributes_.set(std::string(name), std::move(value)); }
  void clear() { attributes_ = {}; }

 private:
  Dict attributes_;
  bool being_written_ = false;
};

class Cycler : public Object {
 public:
  explicit Cycler(Values items) : Object(items), items_(std::move(items)) {}
  std::string_view type_name() const override { return "Cycler"; }
  std::optional<Value> attribute(Interpreter& interpreter, std::string_view name) override;
  Value next();
  void reset() { position_ = 0; }

 private:
  Values items_;
  size_t position_ = 0;
};

class Joiner : public Object {
 public:
  explicit Joiner(Value separator) : Object({separator}), separator_(std::move(separator)) {}
  std::string_view type_name() const override { return "Joiner"; }
  std::optional<Value> attribute(Interpreter& interpreter, std::string_view name) override;
  bool callable() const override { return true; }
  Value call(Interpreter& interpreter, Arguments arguments) override;

 private:
  Value separator_;
  bool used_ = false;
};

/// A function, or a method bound to its `self`.
class Function : public Object {
 public:
  using Body = Value (*)(Interpreter& interpreter, const Value& self, Arguments arguments);
  Function(std::string_view name, Body body, Value self = {})
      : Object({self}), name_(name), body_(body), self_(std::move(self)) {}
  std::string_view type_name() const override { return "builtin_function_or_method"; }
  void write_repr(Writer& out, int depth) override;
  bool callable() const override { return true; }
  Value call(Interpreter& interpreter, Arguments arguments) override {
    return body_(interpreter, self_, std::move(arguments));
  }

 private:
  std::string_view name_;
  Body body_;
  Value self_;
};

/// range, namespace, dict, cycler, joiner, raise_exception, strftime_now; nullopt for other names.
std::optional<Value> find_global(std::string_view name);

}  // namespace indexshare::jinja
