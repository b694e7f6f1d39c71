// What tells one checkpoint from another.
#pragma once

#include <string>

#include "checkpoint/checkpoint.h"

namespace indexshare {

/// A few characters that differ where the configuration, the tensors' names, types or shapes differ, or the
/// values that any of them begins with, but for the routed experts', of which there are too many to look at.
/// How the tensors are spread over files does not matter.
Result<std::string> fingerprint(const Checkpoint& checkpoint);

}  // namespace indexshare
