// The check of a request's sampling parameters.
#pragma once

#include <cstdint>

#include "indexshare/result.h"
#include "indexshare/sampling.h"

namespace indexshare {

/// Fails with the parameter's name, its value and the range expected.
Result<void> validate(const SamplingParams& params, int64_t vocab_size);

}  // namespace indexshare
