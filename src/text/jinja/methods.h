// The methods of strings, lists, tuples and dicts.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "text/jinja/objects.h"
#include "text/jinja/value.h"

namespace indexshare::jinja {

struct NamedMethod {
  std::string_view name;
  Function::Body body;
};

/// The method of that name, bound to `self`; nullopt where Python has none. A method that changes its object
/// is an undefined value, as in jinja2's immutable sandbox.
std::optional<Value> find_method(const Value& self, std::string_view name);

/// Those of strings, in string_methods.cc.
std::span<const NamedMethod> string_methods();

/// str.split(separator, limit), from the right if asked; a null separator stands for runs of spaces.
std::vector<std::string_view> split(std::string_view text, const std::string_view* separator, int64_t limit,
                                    bool from_right);
/// str.replace: the first `limit` occurrences, all of them if negative.
std::string replace(Budget& budget, std::string_view text, std::string_view old, std::string_view with,
                    int64_t limit);
/// str.center: `fill` on both sides up to `width` code points.
std::string center(Budget& budget, const String& string, int64_t width, std::string_view fill);

}  // namespace indexshare::jinja
