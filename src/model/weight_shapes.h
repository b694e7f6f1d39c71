// The weights of a model as shapes alone: what a configuration says before there is a checkpoint.
#pragma once

#include "base/dtype.h"
#include "base/function_ref.h"
#include "model/config.h"
#include "model/weights.h"

namespace indexshare {

/// The weights that a checkpoint in `dtype` (f32, bf16, f16 or fp8) has: matrices without data; norms of one
/// and biases of zero, since vectors are held by value; the MTP layer where the configuration has one. In an
/// fp8 checkpoint embedding, head, router, index weights and eh_proj are bf16, as in the published ones.
Weights weight_shapes(const Config& config, DType dtype);

/// Calls `body` for each matrix, layer by layer; for one that serves as embedding and head, twice.
void for_each_matrix(Weights& weights, FunctionRef<void(Matrix& matrix)> body);

}  // namespace indexshare
