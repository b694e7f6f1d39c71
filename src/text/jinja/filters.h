// The filters of templates: `value | name(arguments)`.
#pragma once

#include <span>
#include <string_view>

#include "text/jinja/value.h"

namespace indexshare::jinja {

using Filter = Value (*)(Interpreter& interpreter, const Value& input, Arguments arguments);

struct NamedFilter {
  std::string_view name;
  Filter filter;
};

/// Null for an unknown name.
Filter find_filter(std::string_view name);

/// All of them: text_filters.cc has those that make text or numbers, sequence_filters.cc the others.
std::span<const NamedFilter> text_filters();
std::span<const NamedFilter> sequence_filters();

}  // namespace indexshare::jinja
