#include "engine/memory_plan.h"

#include <algorithm>
#include <limits>

#include "base/available_memory.h"
#include "base/error.h"
#include "base/units.h"
#include "model/model.h"

namespace indexshare {
namespace {

// Measured: what `indexshare` takes before it loads a model, and what a further thread adds.
constexpr int64_t kProgramBytes = 7 << 20;
constexpr int64_t kThreadBytes = 16 << 10;
// Measured with tokenizers of 7.8 and 11.4 MB: parsing takes 38 and 59 MB at its peak.
constexpr int64_t kTokenizerFactor = 5;

// Every call that forward() makes of linear(), experts() and mlp().
void add_layer(const Config& config, const LayerWeights& w, int64_t rows, cpu::Workload& work) {
  const AttentionWeights& a = w.self_attn;
  for (const Matrix* matrix :
       {&a.q_a_proj.weight, &a.q_b_proj, &a.kv_a_proj_with_mqa.weight, &a.o_proj.weight}) {
    work.products.push_back({matrix, rows, Rounding::activation});
  }
  if (a.indexer) {
    work.products.push_back({&a.indexer->wq_b, rows, Rounding::activation});
    work.products.push_back({&a.indexer->wk, rows, Rounding::activation});
    work.products.push_back({&a.indexer->weights_proj, rows, Rounding::exact});
  }
  if (w.mlp) work.mlps.push_back({.experts = {}, .experts_per_token = 0, .shared = &*w.mlp});
  if (!w.moe) return;
  work.products.push_back({&w.moe->gate, rows, Rounding::exact});
  work.mlps.push_back({.experts = w.moe->experts,
                       .experts_per_token = config.num_experts_per_tok,
                       .shared = w.moe->shared_experts ? &*w.moe->shared_experts : nullptr});
}

cpu::Workload workload(const Config& config, const Weights& weights, const EngineOptions& options,
                       int64_t rows, int64_t logit_rows, int64_t context) {
  cpu::Workload work;
  work.rows = rows;
  work.context = context;
  work.cache_dtype = dtype_of(*options.cache_dtype);
  work.index_keys = options.index_keys;
  work.heads = head_shape(config);
  work.index_heads = config.index_n_heads;
  work.index_dim = config.index_head_dim;
  work.index_topk = config.index_topk;
  for (const LayerWeights& layer : weights.layers) add_layer(config, layer, rows, work);
  work.products.push_back({&weights.lm_head, logit_rows, Rounding::activation});
  return work;
}

// Tokens whose pages fit into `bytes`.
int64_t tokens_in(int64_t bytes, const CacheLayout& layout) {
  return bytes / layout.page_bytes * kPageTokens;
}

}  // namespace

MemoryPlan plan_memory(const Config& config, const Weights& weights, const cpu::Kernels& kernels,
                       const EngineOptions& options, const MemoryLoad& load) {
  const int64_t rows = std::max(std::min(options.chunk, load.context), load.batch);
  const CacheLayout layout = cache_layout(config, dtype_of(*options.cache_dtype), options.index_keys);
  const int64_t pages = pages_for(load.context) * load.batch;
  MemoryPlan plan;  // a slab of the page pool takes no memory where its pages are not in use
  plan.weights = weight_bytes(config, weights);
  plan.latent_cache = pages * kPageTokens * layout.latent_bytes_per_token();
  plan.index_cache = pages * kPageTokens * layout.index_bytes_per_token();
  plan.activations = Workspace::bytes(config, rows, load.batch, load.context);
  plan.backend =
      cpu::CpuBackend::planned_bytes(kernels, options.threads, *options.compute,
                                     workload(config, weights, options, rows, load.batch, load.context));
  plan.logits = load.batch * config.vocab_size * static_cast<int64_t>(sizeof(float));
  plan.process = kProgramBytes + options.threads * kThreadBytes + kTokenizerFactor * load.tokenizer_bytes;
  return plan;
}

int64_t memory_limit(const EngineOptions& options) {
  if (options.ram_bytes > 0) return options.ram_bytes;
  return available_memory().value_or(std::numeric_limits<int64_t>::max());
}

Result<void> fit_memory(const MemoryPlan& plan, const CacheLayout& layout, int64_t memory, bool mapped,
                        bool asked, EngineOptions& o) {
  const int64_t stays = mapped            ? plan.weights.total() - plan.weights.routed_experts
                        : o.ram_bytes > 0 ? plan.weights.total()
                                          : 0;
  const int64_t room = memory - stays - plan.workspace() - plan.process;
  const std::string of_memory =
      fmt::format("{} of {}", bytes_text(memory),
                  o.ram_bytes > 0 ? fmt::format("{}ram", o.prefix) : std::string("available memory"));
  if (room < layout.page_bytes) {
    return make_error(ErrorCode::out_of_memory,
                      "{} for weights and {} for the workspace of {}chunk {} leave no cache in {}",
                      bytes_text(stays), bytes_text(plan.workspace()), o.prefix, o.chunk, of_memory);
  }
  if (o.cache_bytes > room) {
    return make_error(ErrorCode::out_of_memory,
                      "{}cache-memory is {}, but beside weights and workspace {} leave {}", o.prefix,
                      bytes_text(o.cache_bytes), of_memory, bytes_text(room));
  }
  const bool bounded = o.cache_bytes > 0;
  if (!bounded) o.cache_bytes = room;
  if (plan.cache() <= o.cache_bytes) return {};
  const int64_t fits = tokens_in(o.cache_bytes, layout);
  if (asked) {
    return make_error(
        ErrorCode::out_of_memory, "{}context is {}, whose cache takes {}; {} hold at most {} tokens",
        o.prefix, o.context, bytes_text(plan.cache()),
        bounded ? fmt::format("{} of {}cache-memory", bytes_text(o.cache_bytes), o.prefix)
                : fmt::format("the {} that weights and workspace leave of {}", bytes_text(room), of_memory),
        fits);
  }
  if (!bounded) o.context = std::min(o.context, fits);
  return {};
}

}  // namespace indexshare
