// Python's operators over values: arithmetic, membership, subscripts, slices, attributes.
#pragma once

#include <optional>
#include <string_view>

#include "text/jinja/value.h"

namespace indexshare::jinja {

enum class BinaryOperator : uint8_t { add, subtract, multiply, divide, floor_divide, modulo, power };
enum class UnaryOperator : uint8_t { plus, minus };
enum class Relation : uint8_t { equal, not_equal, less, less_equal, greater, greater_equal, in, not_in };

Value apply(Interpreter& interpreter, BinaryOperator op, const Value& a, const Value& b);
Value apply(UnaryOperator op, const Value& a);

bool holds(Interpreter& interpreter, Relation relation, const Value& a, const Value& b);

/// `needle in haystack`.
bool contains(Interpreter& interpreter, const Value& haystack, const Value& needle);

/// `object[key]`, falling back to the attribute, else an undefined value, as jinja2's getitem.
Value get_item(Interpreter& interpreter, const Value& object, const Value& key);
/// `object.name`, falling back to the item, else an undefined value, as jinja2's getattr.
Value get_attribute(Interpreter& interpreter, const Value& object, std::string_view name);
/// The attribute alone, nullopt when there is none (the |attr filter, getattr in Python).
std::optional<Value> find_attribute(Interpreter& interpreter, const Value& object, std::string_view name);

/// `object[start:stop:step]`; None stands for a part left out.
Value slice(Interpreter& interpreter, const Value& object, const Value& start, const Value& stop,
            const Value& step);
/// Python's slice.indices(): how many elements, from where, by which step.
struct SliceRange {
  int64_t start = 0, step = 1, count = 0;
};
SliceRange slice_range(const Value& start, const Value& stop, const Value& step, int64_t length);

/// len(value); fails for what has none.
int64_t length(const Value& value);
std::optional<int64_t> find_length(const Value& value);
/// What a for loop visits; fails for what cannot be iterated.
Values iterate(Interpreter& interpreter, const Value& value);
bool is_iterable(const Value& value);

/// HTML escaping: what is `safe` already passes through.
Value escape(Budget& budget, const Value& value);

int64_t checked_add(int64_t a, int64_t b);
int64_t checked_multiply(int64_t a, int64_t b);

}  // namespace indexshare::jinja
