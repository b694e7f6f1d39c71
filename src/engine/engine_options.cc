#include "engine/engine_options.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/numa.h"
#include "base/thread_pool.h"

namespace indexshare {
namespace {

constexpr int kMaxThreads = 1024;
constexpr int kMaxNodes = 64;
constexpr int64_t kMaxChunk = int64_t{1} << 20;
constexpr int64_t kMaxRunning = 4096;

Result<void> check(const EngineOptions& o, const Config& config) {
  if (o.threads < 0 || o.threads > kMaxThreads) {
    return make_error("{}threads is {}, expected 0 (one per processor) to {}", o.prefix, o.threads,
                      kMaxThreads);
  }
  if (o.numa_nodes < 0 || o.numa_nodes > kMaxNodes) {
    return make_error("{}numa is {}, expected 0 (all memory nodes) to {}", o.prefix, o.numa_nodes, kMaxNodes);
  }
  if (o.chunk < 1 || o.chunk > kMaxChunk) {
    return make_error("{}chunk is {}, expected 1 to {} tokens", o.prefix, o.chunk, kMaxChunk);
  }
  if (o.context < 0 || o.context > config.max_position_embeddings) {
    return make_error(
        "{}context is {}, but the model was made for at most {} tokens (max_position_embeddings)", o.prefix,
        o.context, config.max_position_embeddings);
  }
  if (o.cache_bytes < 0) {
    return make_error("{}cache-memory is {}, expected 0 or more bytes", o.prefix, o.cache_bytes);
  }
  if (o.max_running < 1 || o.max_running > kMaxRunning) {
    return make_error("{}max-running is {}, expected 1 to {} requests", o.prefix, o.max_running, kMaxRunning);
  }
  if (o.max_waiting < 0) {
    return make_error("{}max-waiting is {}, expected 0 (any number) or more requests", o.prefix,
                      o.max_waiting);
  }
  if (!o.disk_cache.empty() && o.disk_cache_bytes <= 0) {
    return make_error("{}disk-cache-size is {}, expected 1 byte or more", o.prefix, o.disk_cache_bytes);
  }
  if (!o.disk_cache.empty() && !o.reuse_prefixes) {
    return make_error("{}disk-cache is for an engine that reuses prefixes", o.prefix);
  }
  if (o.ram_bytes < 0) return make_error("{}ram is {}, expected 0 or more bytes", o.prefix, o.ram_bytes);
  if (!(o.latent_norm_eps > 0 && o.latent_norm_eps < 1)) {
    return make_error("{}latent-norm-eps is {}, expected a number between 0 and 1", o.prefix,
                      o.latent_norm_eps);
  }
  return {};
}

// Whether any big matrix is stored with bf16's precision or less.
bool is_low_precision(const Weights& weights) {
  const DType embed = weights.embed_tokens.dtype;
  const DType first = weights.layers.front().self_attn.q_b_proj.dtype;
  return embed == DType::bf16 || first == DType::bf16 || first == DType::fp8_e4m3;
}

}  // namespace

Result<EngineOptions> resolve_options(const EngineOptions& options, const Config& config,
                                      const Weights& weights) {
  RETURN_IF_ERROR(check(options, config));
  EngineOptions o = options;
  if (o.threads == 0) o.threads = std::min(available_cpus(), kMaxThreads);
  if (o.numa_nodes == 0) o.numa_nodes = numa_nodes();
  if (o.context == 0) o.context = config.max_position_embeddings;
  if (!o.compute) o.compute = is_low_precision(weights) ? FloatType::bf16 : FloatType::f32;
  if (!o.cache_dtype) o.cache_dtype = o.compute;
  o.schedule = config.schedule();
  return o;
}

Result<void> apply_schedule(const EngineOptions& options, Config& config) {
  if (options.schedule.empty()) return {};
  std::optional<std::vector<bool>> full = schedule_of(options.schedule, config.num_hidden_layers);
  if (!full) {
    return make_error("{}schedule is \"{}\", expected {} letters, F (full) or S (shared) for each layer",
                      options.prefix, options.schedule, config.num_hidden_layers);
  }
  if (!full->front()) {
    return make_error("{}schedule makes layer 0 a shared layer, but no layer before it has an index to share",
                      options.prefix);
  }
  for (size_t layer = 0; layer < full->size(); ++layer) {
    if ((*full)[layer] && !config.indexer_full[layer]) {
      return make_error("{}schedule makes layer {} a full layer, but the model has no indexer there",
                        options.prefix, layer);
    }
  }
  config.indexer_full = std::move(*full);
  return {};
}

}  // namespace indexshare
