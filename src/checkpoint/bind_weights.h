// From the tensors of a checkpoint to the model's weights, by the names of section 1 of the model's
// description: per layer, per expert, with the scales of quantized matrices.
#pragma once

#include <memory>

#include "checkpoint/checkpoint.h"
#include "indexshare/result.h"
#include "model/config.h"
#include "model/weights.h"

namespace indexshare {

/// Binds every tensor of `config` to the checkpoint, without copying matrices; the result keeps the
/// checkpoint alive. Missing, unexpected and mis-shaped tensors are all listed in one error. The MTP layer is
/// bound where the config has one and the checkpoint holds it.
Result<Weights> bind_weights(const Config& config, std::shared_ptr<const Checkpoint> checkpoint);

}  // namespace indexshare
