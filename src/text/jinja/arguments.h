// Binding the arguments of a call to the parameters of a builtin function.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/value.h"

namespace indexshare::jinja {

/// The bound arguments, by place of the parameter. Fails, naming the function, for too many or missing
/// arguments, unknown names and values of the wrong type.
class Parameters {
 public:
  /// The first `required` of `names` must be given; a parameter named "" takes positional arguments only.
  Parameters(std::string_view function, Arguments arguments, std::initializer_list<std::string_view> names,
             size_t required = 0);

  bool given(size_t i) const { return bound_[i].has_value(); }
  /// Given, and not None.
  bool has(size_t i) const { return given(i) && !bound_[i]->is(Kind::none); }
  const Value& operator[](size_t i) const { return *bound_[i]; }
  Value get(size_t i, Value otherwise) const { return given(i) ? *bound_[i] : std::move(otherwise); }
  bool flag(size_t i, bool otherwise) const { return given(i) ? truthy(*bound_[i]) : otherwise; }
  int64_t integer(size_t i, int64_t otherwise) const;
  const std::string& string(size_t i) const;
  /// All that are given.
  std::vector<Value> values() const;

 private:
  std::string_view function_;
  std::vector<std::optional<Value>> bound_;
};

}  // namespace indexshare::jinja
