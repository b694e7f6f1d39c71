// Weights of a given shape without a checkpoint, for measuring and for tests.
#pragma once

#include "base/dtype.h"
#include "indexshare/result.h"
#include "model/config.h"
#include "model/weights.h"

namespace indexshare {

/// Matrices of `dtype` (f32, bf16, f16 or fp8) with values of standard deviation about cols^-0.5, norms of
/// one, biases of zero; all from `seed`. Fails when the memory is not there. The MTP layer is left out.
Result<Weights> random_weights(const Config& config, DType dtype, uint64_t seed);

}  // namespace indexshare
