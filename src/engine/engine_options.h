// How an engine is set up.
#pragma once

#include <cstdint>
#include <optional>

#include "base/dtype.h"
#include "cache/layout.h"
#include "indexshare/result.h"
#include "model/config.h"
#include "model/weights.h"
#include "ops/backend.h"

namespace indexshare {

struct EngineOptions {
  int threads = 0;                     // 0: one per processor
  int numa_nodes = 0;                  // memory nodes to share work and caches over; 0: all, 1: none
  std::optional<ComputeType> compute;  // none: bf16 for bf16 and fp8 checkpoints, else f32
  std::optional<DType> cache_dtype;    // f32 or bf16; none: as compute
  IndexKeys index_keys = IndexKeys::plain;
  float latent_norm_eps = 1e-6f;  // of q_a_layernorm and kv_a_layernorm
  int64_t context = 0;  // tokens a sequence may have; 0: max_position_embeddings, or what fits into memory
  int64_t cache_bytes = 0;  // budget of all caches; 0: what fits into memory
  int64_t chunk = 512;      // prompt tokens in one forward pass
  int64_t ram_bytes = 0;    // memory to stay inside; 0: what the machine has available

  const char* prefix = "";  // goes before the names of settings in errors: "--" on a command line
};

/// Checks the options for a model and sets those that depend on it or on the machine, but for what memory
/// decides: cache_bytes stays as it is, and a context that nobody asked for is max_position_embeddings.
Result<EngineOptions> resolve_options(const EngineOptions& options, const Config& config,
                                      const Weights& weights);

}  // namespace indexshare
