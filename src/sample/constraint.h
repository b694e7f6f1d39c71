// The check of a constraint before anything is made of it: a request may bring any text.
#pragma once

#include "indexshare/constraint.h"
#include "indexshare/result.h"

namespace indexshare {

/// Bounds what its grammar can grow to. The sentence begins with the constraint's kind.
Result<void> validate(const Constraint& constraint);

}  // namespace indexshare
