// The filters over sequences and mappings, and those that choose values.
#include <algorithm>

#include "base/error.h"
#include "text/jinja/arguments.h"
#include "text/jinja/filters.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/numbers.h"
#include "text/jinja/objects.h"
#include "text/jinja/operators.h"
#include "text/jinja/unicode.h"

namespace indexshare::jinja {
namespace {

// A generator over `input` and the arguments, which it holds.
Value lazy(Interpreter& interpreter, const Value& input, const Values& arguments, Generator::Source source) {
  Values parts = arguments;
  parts.push_back(input);
  interpreter.budget().bytes(static_cast<int64_t>(sizeof(Generator) + parts.size() * sizeof(Value)));
  return Value::object(std::make_shared<Generator>(parts, std::move(source), "generator"));
}

// "address.city" or 0: looks an attribute up, step by step.
class AttributePath {
 public:
  explicit AttributePath(const Value& attribute) {
    if (attribute.is(Kind::none)) return;
    if (!attribute.is(Kind::string)) {
      parts_.push_back(attribute);
      return;
    }
    const std::string& text = attribute.text();
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find('.', begin), text.size());
      const std::string part = text.substr(begin, end - begin);
      const bool number = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
      parts_.push_back(number ? Value::integer(*parse_integer(part, 10)) : Value::string(part));
      begin = end + 1;
    }
  }

  /// `otherwise` replaces undefined values unless it is None.
  Value of(Interpreter& interpreter, Value item, const Value& otherwise = {}) const {
    for (const Value& part : parts_) {
      item = get_item(interpreter, item, part);
      if (item.is(Kind::undefined) && !otherwise.is(Kind::none)) item = otherwise;
    }
    return item;
  }

 private:
  Values parts_;
};

Value fold_case(Interpreter& interpreter, Value value, bool case_sensitive) {
  if (case_sensitive || !value.is(Kind::string)) return value;
  return interpreter.string(to_lower(value.text()));
}

struct Keyed {
  Value key, item;
};

// Python's sorted(): stable, also in reverse.
void sort_by_key(Interpreter& interpreter, std::vector<Keyed>& items, bool reverse) {
  Budget& budget = interpreter.budget();
  std::stable_sort(items.begin(), items.end(), [&](const Keyed& a, const Keyed& b) {
    return reverse ? ordered(budget, Order::less, b.key, a.key) : ordered(budget, Order::less, a.key, b.key);
  });
}

Values items_of(std::vector<Keyed> keyed) {
  Values items;
  items.reserve(keyed.size());
  for (Keyed& entry : keyed) items.push_back(std::move(entry.item));
  return items;
}

// --- choosing ---

Value default_filter(Interpreter&, const Value& input, Arguments arguments) {
  const Parameters parameters("default", std::move(arguments), {"default_value", "boolean"});
  const bool replaced = input.is(Kind::undefined) || (parameters.flag(1, false) && !truthy(input));
  return replaced ? parameters.get(0, Value::string("")) : input;
}

Value attr(Interpreter& interpreter, const Value& input, Arguments arguments) {
  const Parameters parameters("attr", std::move(arguments), {"name"}, 1);
  const std::string& name = parameters.string(0);
  if (input.is(Kind::undefined)) fail(input.as_undefined().message);
  if (auto value = find_attribute(interpreter, input, name)) return *value;
  return Value::undefined(fmt::format("'{} object' has no attribute {}", type_name(input), quote_text(name)));
}

Value first(Interpreter& interpreter, const Value& input, Arguments arguments) {
  const Parameters parameters("first", std::move(arguments), {});
  std::optional<Value> found;
  if (auto* source = input.object_as<Generator>()) {
    found = source->next(interpreter);
  } else {
    Values items = iterate(interpreter, input);
    if (!items.empty()) found = std::move(items.front());
  }
  return found ? *found : Value::undefined("No first item, sequence was empty.");
}

Value last(Interpreter& interpreter, const Value& input, Arguments arguments) {
  const Parameters parameters("last", std::move(arguments), {});
  if (input.object_as<Generator>() != nullptr)
    fail(fmt::format("'{}' object is not reversible", type_name(input)));
  Values items = iterate(interpreter, input);
  return items.empty() ? Value::undefined("No last item, sequence was empty.") : items.back();
}

template <Order wanted>
Value extreme(Interpreter& interpreter, const Value& input, Arguments arguments) {
  const Parameters parameters("min", std::move(arguments), {"case_sensitive", "attribute"});
  const AttributePath path(parameters.get(1, {}));
  const bool case_sensitive = parameters.flag(0, false);
  std::optional<Keyed> best;
  for (Value& item : iterate(interpreter, input)) {
    Value key = fold_case(interpreter, path.of(interpreter, item), case_sensitive);
    if (!best || ordered(interpreter.budget(), wanted, key, best->key))
      best = Keyed{std::move(key), std::move(item)};
  }
  return best ? best->item : Value::undefined("No aggregated item, sequence was empty.");
}

// --- measuring ---

Value length_filter(Interpreter&, const Value& input, Arguments arguments) {
  const Parameters parameters("length", std::move(arguments), {});
  return Value::integer(length(input));
}

Value sum(Interpreter& interpreter, const Value& input, Arguments arguments) {
  const Parameters parameters("sum", std::move(arguments), {"attribute", "start"});
  const AttributePath path(parameters.get(0, {}));
  Value total = parameters.get(1, Value::integer(0));
  if (total.is(Kind::string)) fail("sum() can't sum strings [use ''.join(seq) instead]");
  for (const Value& item : iterate(interpreter, input)) {
    total = apply(interpreter, BinaryOperator::add, total, path.of(interpreter, item));
  }
  return total;
}

Value join(Interpreter& interpreter, const Value& input, Arguments arguments) {
  const Parameters parameters("join", std::move(arguments), {"d", "attribute"});
  Budget& budget = interpreter.budget();
  const AttributePath path(parameters.get(1, {}));
  const std::string separator = parameters.given(0) ? str(budget, parameters[0]) : "";
  Writer out(budget);
  bool is_first = true;
  for (const Value& item : iterate(interpreter, input)) {
    if (!is_first) out << separator;
    is_first = false;
    write_str(out, path.of(interpreter, item));
  }
  return Value::string(out.take());
}

// --- reordering ---

Value list_filter(Interpreter& interpreter, const Value& input, Arguments arguments) {
  const Parameters parameters("list", std::move(arguments), {});
  return Value::list(iterate(interpreter, input));
}

Value reverse(Interpreter& interpreter, const Value& input, Arguments arguments) {
  const Parameters parameters("reverse", std::move(arguments), {});
  if (input.is(Kind::string)) {
    return slice(interpreter, input, {}, {}, Value::integer(-1));
  }
  if (!is_iterable(input)) fail("reverse needs something that can be iterated");
  Values items = iterate(interpreter, input);
  std::reverse(items.begin(), items.end());
  // What Python cannot reverse in place becomes a list.
  if (input.is(Kind::undefined) || input.object_as<Generator>() != nullptr)
    return interpreter.list(std::move(items));
  const auto reversed = [items](Interpreter&) { return items; };
  return Value::object(std::make_shared<Generator>(items, reversed, "reversed"));
}

// Several attributes, with commas between them, compare one after another.
Value sort_key(Interpreter& interpreter, const std::vector<AttributePath>& paths, const Value& item,
               bool case_sensitive) {
  Values keys;
  for (const AttributePath& path : paths) {
    keys.push_back(fold_case(interpreter, path.of(interpreter, item), case_sensitive));
  }
  return interpreter.list(std::move(keys));
}

Value sort(Interpreter& interpreter, const Value& input, Arguments arguments) {
  const Parameters parameters("sort", std::move(arguments), {"reverse", "case_sensitive", "attribute"});
  std::vector<AttributePath> paths;
  const Value attribute = parameters.get(2, {});
  if (attribute.is(Kind::string)) {
    const std::string& text = attribute.text();
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find(',', begin), text.size());
      paths.emplace_back(Value::string(text.substr(begin, end - begin)));
      begin = end + 1;
    }
  } else {
    paths.emplace_back(attribute);
  }
  std::vector<Keyed> keyed;
  for (Value& item : iterate(interpreter, input)) {
    Value key = sort_key(interpreter, paths, item, parameters.flag(1, false));
    keyed.push_back({std::move(key), std::move(item)});
  }
  sort_by_key(interpreter, keyed, parameters.integer(0, 0) != 0);
  return interpreter.list(items_of(std::move(keyed)));
}

Value unique(Interpreter& interpreter, const Value& input, Arguments arguments) {
  const Parameters parameters("unique", std::move(arguments), {"case_sensitive", "attribute"});
  return lazy(interpreter, input, parameters.values(), [input, parameters](Interpreter& running) {
    const AttributePath path(parameters.get(1, {}));
    Dict seen;
    Values items;
    for (Value& item : iterate(running, input)) {
      Value key = fold_case(running, path.of(running, item), parameters.flag(0, false));
      if (seen.find(running.budget(), key) != nullptr) continue;
      seen.set(running.budget(), std::move(key), {});
      items.push_back(std::move(item));
    }
    return items;
  });
}

Value dictsort(Interpreter& interpreter, const Value& input, Arguments arguments) {
  const Parameters parameters("dictsort", std::move(arguments), {"case_sensitive", "by", "reverse"});
  const std::string by = parameters.given(1) ? parameters.string(1) : "key";
  if (by != "key" && by != "value") fail("You can only sort by either \"key\" or \"value\"");
  if (input.is(Kind::undefined)) fail(input.as_undefined().message);
  if (!input.is(Kind::dict)) fail(fmt::format("dictsort needs a mapping, not {}", type_name(input)));
  std::vector<Keyed> keyed;
  for (const auto& [key, value] : input.as_dict().entries()) {
    keyed.push_back({fold_case(interpreter, by == "key" ? key : value, parameters.flag(0, false)),
                     interpreter.tuple({key, value})});
  }
  sort_by_key(interpreter, keyed, parameters.integer(2, 0) != 0);
  return interpreter.list(items_of(std::move(keyed)));
}

Value items_filter(Interpreter& interpreter, const Value& input, Arguments arguments) {
  const Parameters parameters("items", std::move(arguments), {});
  return lazy(interpreter, input, {}, [input](Interpreter& running) {
    Values pairs;
    if (input.is(Kind::undefined)) return pairs;
    if (!input.is(Kind::dict)) fail("Can only get item pairs from a mapping.");
    for (const auto& [key, value] : input.as_dict().entries()) pairs.push_back(running.tuple({key, value}));
    return pairs;
  });
}

// --- grouping ---

Value groupby(Interpreter& interpreter, const Value& input, Arguments arguments) {
  const Parameters parameters("groupby", std::move(arguments), {"attribute", "default", "case_sensitive"}, 1);
  const AttributePath path(parameters[0]);
  const Value otherwise = parameters.get(1, {});
  const bool case_sensitive = parameters.flag(2, false);
  std::vector<Keyed> keyed;
  for (Value& item : iterate(interpreter, input)) {
    Value key = fold_case(interpreter, path.of(interpreter, item, otherwise), case_sensitive);
    keyed.push_back({std::move(key), std::move(item)});
  }
  sort_by_key(interpreter, keyed, false);
  Values groups;
  for (size_t begin = 0; begin < keyed.size();) {
    Values members;
    size_t end = begin;
    for (; end < keyed.size() && equal(interpreter.budget(), keyed[begin].key, keyed[end].key); ++end) {
      members.push_back(keyed[end].item);
    }
    if (end == begin) fail("groupby needs values that equal themselves");  // NaN
    Value grouper = path.of(interpreter, members.front(), otherwise);
    groups.push_back(Value::group(std::move(grouper), interpreter.list(std::move(members))));
    begin = end;
  }
  return interpreter.list(std::move(groups));
}

Values batches(Interpreter& interpreter, const Value& input, const Value& size, const Value& filling) {
  Values rows, row;
  for (Value& item : iterate(interpreter, input)) {
    if (equal(interpreter.budget(), Value::integer(static_cast<int64_t>(row.size())), size)) {
      rows.push_back(interpreter.list(std::exchange(row, {})));
    }
    row.push_back(std::move(item));
  }
  if (row.empty()) return rows;
  const Value filled = Value::integer(static_cast<int64_t>(row.size()));
  if (!filling.is(Kind::none) && ordered(interpreter.budget(), Order::less, filled, size)) {
    const auto missing = apply(interpreter, BinaryOperator::subtract, size, filled).index();
    if (!missing) fail(fmt::format("batch() needs an integer, not '{}'", type_name(size)));
    interpreter.budget().bytes(checked_multiply(*missing, sizeof(Value)));
    row.insert(row.end(), static_cast<size_t>(*missing), filling);
  }
  rows.push_back(interpreter.list(std::move(row)));
  return rows;
}

Value batch(Interpreter& interpreter, const Value& input, Arguments arguments) {
  const Parameters parameters("batch", std::move(arguments), {"linecount", "fill_with"}, 1);
  return lazy(interpreter, input, parameters.values(), [input, parameters](Interpreter& running) {
    return batches(running, input, parameters[0], parameters.get(1, {}));
  });
}

Values slices(Interpreter& interpreter, const Value& input, int64_t count, const Value& filling) {
  if (count == 0) fail("integer division or modulo by zero");
  const Values items = iterate(interpreter, input);
  const auto size = static_cast<int64_t>(items.size());
  Values columns;
  int64_t begin = 0;
  for (int64_t i = 0; i < count; ++i) {
    const bool extra = i < size % count;
    const int64_t end = begin + size / count + extra;
    Values column(items.begin() + begin, items.begin() + end);
    if (!filling.is(Kind::none) && !extra) column.push_back(filling);
    interpreter.budget().bytes(sizeof(Sequence));
    columns.push_back(interpreter.list(std::move(column)));
    begin = end;
  }
  return columns;
}

Value slice_filter(Interpreter& interpreter, const Value& input, Arguments arguments) {
  const Parameters parameters("slice", std::move(arguments), {"slices", "fill_with"}, 1);
  return lazy(interpreter, input, parameters.values(), [input, parameters](Interpreter& running) {
    return slices(running, input, parameters.integer(0, 0), parameters.get(1, {}));
  });
}

// --- applying filters and tests to each item ---

Values held(const Arguments& arguments) {
  Values values = arguments.positional;
  for (const auto& argument : arguments.named) values.push_back(argument.second);
  return values;
}

// The first positional argument, taken off.
std::optional<Value> take_first(Arguments& arguments) {
  if (arguments.positional.empty()) return std::nullopt;
  Value first = std::move(arguments.positional.front());
  arguments.positional.erase(arguments.positional.begin());
  return first;
}

Values mapped(Interpreter& interpreter, const Value& input, Arguments arguments) {
  Values results;
  if (!truthy(input)) return results;
  const auto is_attribute = [](const auto& argument) { return argument.first == "attribute"; };
  if (arguments.positional.empty() &&
      std::any_of(arguments.named.begin(), arguments.named.end(), is_attribute)) {
    const Parameters parameters("map", std::move(arguments), {"attribute", "default"}, 1);
    const AttributePath path(parameters[0]);
    for (Value& item : iterate(interpreter, input)) {
      results.push_back(path.of(interpreter, std::move(item), parameters.get(1, {})));
    }
    return results;
  }
  const std::optional<Value> name = take_first(arguments);
  if (!name) fail("map requires a filter argument");
  if (!name->is(Kind::string)) fail(fmt::format("map needs the name of a filter, not {}", type_name(*name)));
  for (Value& item : iterate(interpreter, input)) {
    results.push_back(interpreter.filter(name->text(), std::move(item), arguments));
  }
  return results;
}

Value map(Interpreter& interpreter, const Value& input, Arguments arguments) {
  return lazy(interpreter, input, held(arguments),
              [input, arguments](Interpreter& running) { return mapped(running, input, arguments); });
}

Values chosen(Interpreter& interpreter, const Value& input, Arguments arguments, bool keep,
              bool by_attribute) {
  Values passing;
  if (!truthy(input)) return passing;
  const std::optional<Value> attribute = by_attribute ? take_first(arguments) : Value();
  if (!attribute) fail("Missing parameter for attribute name");
  const AttributePath path(*attribute);
  const std::optional<Value> test = take_first(arguments);
  if (test && !test->is(Kind::string)) {
    fail(fmt::format("select needs the name of a test, not {}", type_name(*test)));
  }
  for (Value& item : iterate(interpreter, input)) {
    const Value value = path.of(interpreter, item);
    const bool passes = test ? interpreter.test(test->text(), value, arguments) : truthy(value);
    if (passes == keep) passing.push_back(std::move(item));
  }
  return passing;
}

template <bool keep, bool by_attribute>
Value choose(Interpreter& interpreter, const Value& input, Arguments arguments) {
  return lazy(interpreter, input, held(arguments), [input, arguments](Interpreter& running) {
    return chosen(running, input, arguments, keep, by_attribute);
  });
}

constexpr NamedFilter kFilters[] = {
    {"attr", attr},
    {"batch", batch},
    {"count", length_filter},
    {"d", default_filter},
    {"default", default_filter},
    {"dictsort", dictsort},
    {"first", first},
    {"groupby", groupby},
    {"items", items_filter},
    {"join", join},
    {"last", last},
    {"length", length_filter},
    {"list", list_filter},
    {"map", map},
    {"max", extreme<Order::greater>},
    {"min", extreme<Order::less>},
    {"reject", choose<false, false>},
    {"rejectattr", choose<false, true>},
    {"reverse", reverse},
    {"select", choose<true, false>},
    {"selectattr", choose<true, true>},
    {"slice", slice_filter},
    {"sort", sort},
    {"sum", sum},
    {"unique", unique},
};

}  // namespace

std::span<const NamedFilter> sequence_filters() {
  return kFilters;
}

}  // namespace indexshare::jinja
