// Any text as config.json, generation_config.json and the index of shards: what is accepted is consistent.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/json.h"
#include "checkpoint/checkpoint.h"
#include "model/config.h"
#include "model/generation_config.h"
#include "model/parameters.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void check(const indexshare::Config& c) {
  require(std::ssize(c.indexer_full) == c.num_hidden_layers && c.indexer_full.front());
  require(std::ssize(c.mlp_sparse) == c.num_hidden_layers);
  require(c.qk_rope_head_dim % 2 == 0 && c.qk_rope_head_dim <= c.index_head_dim);
  require(c.n_routed_experts % c.n_group == 0 && c.topk_group <= c.n_group);
  require(c.num_experts_per_tok <= c.n_routed_experts / c.n_group * c.topk_group);
  require(c.rope_theta >= 1.0f && c.rms_norm_eps > 0.0f);
  for (const int32_t id : c.eos_token_ids) require(id >= 0 && id < c.vocab_size);
  const indexshare::ParameterCount count = indexshare::count_parameters(c);  // its sums must not overflow
  require(count.total() > 0 && count.total() < (int64_t{1} << 60) && count.active() > 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace indexshare;
  const auto json = parse_sorted_json({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!json.ok()) return 0;
  Config defaults;
  defaults.vocab_size = 100;
  const auto config = parse_config(*json, "fuzz");
  if (config.ok()) check(*config);
  const auto generation = parse_generation_config(*json, config.ok() ? *config : defaults, "fuzz");
  if (generation.ok()) require(generation->temperature >= 0.0f && generation->top_p <= 1.0f);
  const auto shards = parse_shard_index(*json, "fuzz");
  if (shards.ok()) {
    for (const auto& [shard, names] : *shards)
      require(shard.find('/') == std::string::npos && !names.empty());
  }
  return 0;
}
