// What the options of an engine come to for a model on this machine.
#pragma once

#include "indexshare/options.h"
#include "indexshare/result.h"
#include "model/config.h"
#include "model/weights.h"

namespace indexshare {

/// Checks the options for a model and sets those that depend on it or on the machine, but for what memory
/// decides: cache_bytes stays as it is, and a context that nobody asked for is max_position_embeddings.
Result<EngineOptions> resolve_options(const EngineOptions& options, const Config& config,
                                      const Weights& weights);

/// Gives the configuration the schedule that the options ask for, before weights are bound by it. Layers that
/// have an indexer may share the index of one before them; no other way round.
Result<void> apply_schedule(const EngineOptions& options, Config& config);

}  // namespace indexshare
