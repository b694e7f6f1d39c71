// How much memory a model takes, stated before any of it is taken.
#pragma once

#include <cstdint>

#include "cpu/backend.h"
#include "engine/engine_options.h"
#include "model/parameters.h"

namespace indexshare {

/// Bytes by owner.
struct MemoryPlan {
  WeightBytes weights;
  int64_t latent_cache = 0, index_cache = 0;  // of all sequences, in whole pages
  int64_t activations = 0;                    // the model's Workspace: with selection and routing
  int64_t backend = 0;                        // what the backend holds between and within operations
  int64_t logits = 0;
  int64_t process = 0;  // the program and its threads, the tokenizer

  int64_t cache() const { return latent_cache + index_cache; }
  int64_t workspace() const { return activations + backend + logits; }
  int64_t total() const { return weights.total() + cache() + workspace() + process; }

  /// Without the routed experts, of which a token reads few: weights in mapped files may leave memory and be
  /// read again, and these can do so at a bearable price.
  int64_t without_experts() const { return total() - weights.routed_experts; }
};

/// What is asked of the model.
struct MemoryLoad {
  int64_t context = 0;          // tokens of each sequence
  int64_t batch = 1;            // sequences that are held, and decoded together
  int64_t tokenizer_bytes = 0;  // size of tokenizer.json
};

/// `weights` bound or as shapes (model/weight_shapes.h); `options` as resolve_options() leaves them.
MemoryPlan plan_memory(const Config& config, const Weights& weights, const cpu::Kernels& kernels,
                       const EngineOptions& options, const MemoryLoad& load);

/// The memory to stay inside: options.ram_bytes, or what the machine has available; the largest number where
/// nobody says.
int64_t memory_limit(const EngineOptions& options);

/// Sets options.cache_bytes where it is 0, and lowers the context where nobody asked for one (`asked`), so
/// that the engine stays inside `memory` bytes. Fails where what was asked for does not fit. `plan` is that
/// of one sequence of options.context tokens. Weights that are `mapped` from files may leave memory and be
/// read again, their routed experts at least; others are in memory already, and count against ram_bytes
/// alone.
Result<void> fit_memory(const MemoryPlan& plan, const CacheLayout& layout, int64_t memory, bool mapped,
                        bool asked, EngineOptions& options);

}  // namespace indexshare
