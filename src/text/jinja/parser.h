// Builds the syntax tree of a template.
#pragma once

#include <string_view>

#include "text/jinja/ast.h"

namespace indexshare::jinja {

/// Fails (Failure) with the line for what jinja2 refuses to compile, and for nesting beyond the limits.
Syntax parse(std::string_view source);

}  // namespace indexshare::jinja
