// The tests of templates: `value is name(arguments)`.
#pragma once

#include <string_view>

#include "text/jinja/value.h"

namespace indexshare::jinja {

using Test = bool (*)(Interpreter& interpreter, const Value& input, Arguments arguments);

/// Null for an unknown name.
Test find_test(std::string_view name);

}  // namespace indexshare::jinja
