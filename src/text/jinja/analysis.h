// What jinja2's compiler finds out before a template runs, as far as it can be seen from outside:
// - unknown filters and tests, break and continue outside of a loop, assignments to `loop`: errors;
// - which macros use caller, kwargs and varargs;
// - names that begin undefined in a scope: jinja2 compiles names to Python's local variables, and a name
//   whose first mention in a scope is an assignment hides a template variable from the whole scope.
#pragma once

#include "text/jinja/ast.h"

namespace indexshare::jinja {

/// Checks a tree and fills in what is above; fails (Failure) with the line.
void analyze(Syntax& syntax);

}  // namespace indexshare::jinja
