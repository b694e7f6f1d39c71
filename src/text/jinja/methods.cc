#include "text/jinja/methods.h"

#include <algorithm>

#include "base/error.h"
#include "text/jinja/arguments.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/operators.h"

namespace indexshare::jinja {
namespace {

// --- list and tuple ---

Value sequence_index(Interpreter& interpreter, const Value& self, Arguments arguments) {
  const Parameters parameters("index", std::move(arguments), {"", "", ""}, 1);
  const Values& items = self.as_sequence().items;
  const auto size = static_cast<int64_t>(items.size());
  const auto place = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + size : i, 0, size); };
  const int64_t end = place(parameters.integer(2, size));
  for (int64_t i = place(parameters.integer(1, 0)); i < end; ++i) {
    if (equal(interpreter.budget(), items[static_cast<size_t>(i)], parameters[0])) return Value::integer(i);
  }
  fail(fmt::format("index(): the value is not in the {}", type_name(self)));
}

Value sequence_count(Interpreter& interpreter, const Value& self, Arguments arguments) {
  const Parameters parameters("count", std::move(arguments), {""}, 1);
  const Values& items = self.as_sequence().items;
  return Value::integer(std::count_if(items.begin(), items.end(), [&](const Value& item) {
    return equal(interpreter.budget(), item, parameters[0]);
  }));
}

Value copy(Interpreter&, const Value& self, Arguments arguments) {
  const Parameters parameters("copy", std::move(arguments), {});
  return self;  // values never change, so that a copy cannot be told from the original
}

// --- dict ---

Value dict_get(Interpreter& interpreter, const Value& self, Arguments arguments) {
  const Parameters parameters("get", std::move(arguments), {"", ""}, 1);
  const Value* value = self.as_dict().find(interpreter.budget(), parameters[0]);
  return value != nullptr ? *value : parameters.get(1, {});
}

template <DictView::Part part>
Value dict_view(Interpreter&, const Value& self, Arguments arguments) {
  const Parameters parameters("a view of a dict", std::move(arguments), {});
  return Value::object(std::make_shared<DictView>(self, part));
}

constexpr NamedMethod kListMethods[] = {{"copy", copy}, {"count", sequence_count}, {"index", sequence_index}};
constexpr NamedMethod kTupleMethods[] = {{"count", sequence_count}, {"index", sequence_index}};
constexpr NamedMethod kDictMethods[] = {{"copy", copy},
                                        {"get", dict_get},
                                        {"items", dict_view<DictView::Part::items>},
                                        {"keys", dict_view<DictView::Part::keys>},
                                        {"values", dict_view<DictView::Part::values>}};

constexpr std::string_view kListMutators[] = {"append", "clear",  "extend",  "insert",
                                              "pop",    "remove", "reverse", "sort"};
constexpr std::string_view kDictMutators[] = {"clear", "pop", "popitem", "setdefault", "update"};

std::optional<Value> find_in(std::span<const NamedMethod> methods, std::span<const std::string_view> mutators,
                             const Value& self, std::string_view name) {
  for (const NamedMethod& method : methods) {
    if (method.name == name) return Value::object(std::make_shared<Function>(method.name, method.body, self));
  }
  if (std::find(mutators.begin(), mutators.end(), name) != mutators.end()) {
    return Value::undefined(fmt::format(
        "access to attribute '{}' of '{}' object is unsafe: it would change it", name, type_name(self)));
  }
  return std::nullopt;
}

}  // namespace

std::optional<Value> find_method(const Value& self, std::string_view name) {
  switch (self.kind()) {
    case Kind::string: return find_in(string_methods(), {}, self, name);
    case Kind::sequence:
      return self.is_list() ? find_in(kListMethods, kListMutators, self, name)
                            : find_in(kTupleMethods, {}, self, name);
    case Kind::dict: return find_in(kDictMethods, kDictMutators, self, name);
    default: return std::nullopt;
  }
}

}  // namespace indexshare::jinja
