#include "text/jinja/arguments.h"

#include <algorithm>

#include "base/error.h"

namespace indexshare::jinja {

Parameters::Parameters(std::string_view function, Arguments arguments,
                       std::initializer_list<std::string_view> names, size_t required)
    : function_(function), bound_(names.size()) {
  if (arguments.positional.size() > names.size()) {
    fail(fmt::format("{}() takes at most {} arguments, got {}", function, names.size(),
                     arguments.positional.size()));
  }
  std::move(arguments.positional.begin(), arguments.positional.end(), bound_.begin());
  for (auto& [name, value] : arguments.named) {
    const auto* found = std::find(names.begin(), names.end(), name);
    if (found == names.end() || name.empty()) {
      fail(fmt::format("{}() got an unexpected keyword argument '{}'", function, name));
    }
    std::optional<Value>& place = bound_[static_cast<size_t>(found - names.begin())];
    if (place) fail(fmt::format("{}() got two values for the argument '{}'", function, name));
    place = std::move(value);
  }
  for (size_t i = 0; i < required; ++i) {
    if (!bound_[i]) fail(fmt::format("{}() needs at least {} arguments", function, required));
  }
}

int64_t Parameters::integer(size_t i, int64_t otherwise) const {
  if (!given(i)) return otherwise;
  if (const auto index = bound_[i]->index()) return *index;
  if (bound_[i]->is(Kind::undefined)) fail(bound_[i]->as_undefined().message);
  fail(fmt::format("{}() needs an integer, not '{}'", function_, type_name(*bound_[i])));
}

const std::string& Parameters::string(size_t i) const {
  const Value& value = *bound_[i];
  if (value.is(Kind::string)) return value.text();
  if (value.is(Kind::undefined)) fail(value.as_undefined().message);
  fail(fmt::format("{}() needs a string, not '{}'", function_, type_name(value)));
}

std::vector<Value> Parameters::values() const {
  std::vector<Value> values;
  for (const std::optional<Value>& value : bound_) {
    if (value) values.push_back(*value);
  }
  return values;
}

}  // namespace indexshare::jinja
