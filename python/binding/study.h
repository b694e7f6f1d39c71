// What a forward pass shows, as numpy arrays: for people who study the model.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

#include "indexshare/engine.h"

namespace indexshare::python {

/// Which arrays are wanted.
struct Wanted {
  bool logits = true, selections = true, hidden = true;
};

/// Runs `ids` as a sequence of its own, between two steps of the engine. A tuple of arrays, or None where not
/// wanted: logits [S, vocab] f32; selections [full layers, S, index_topk] i32, ascending, then -1; hidden
/// [layers + 2, S, hidden] f32. Ctrl-C stops it after the chunk that it is at.
nanobind::tuple forward(Engine& engine, const std::vector<int32_t>& ids, Wanted wanted);

/// FLOPs of one token at the end of `context` tokens where `full_layers` layers build an index, by part and
/// in all ("total"). `latent`: attention as this engine computes it, else as the published formula counts it.
nanobind::dict flops(const Engine& engine, int64_t context, double full_layers, bool latent);

}  // namespace indexshare::python
