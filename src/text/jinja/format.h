// Python's two ways to format: "%s" % values, and "{}".format(values).
#pragma once

#include <string>
#include <string_view>

#include "text/jinja/value.h"

namespace indexshare::jinja {

/// `format % operand`: a tuple gives one value per field, a dict the %(named)s ones.
Value format_percent(Interpreter& interpreter, const Value& format, const Value& operand);

/// `format.format(*positional, **named)`.
std::string format_braces(Interpreter& interpreter, std::string_view format, const Arguments& arguments);

}  // namespace indexshare::jinja
