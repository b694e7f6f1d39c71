#include "model/flops.h"

#include <algorithm>
#include <cmath>

namespace indexshare {
namespace {

/// What one token costs, to be multiplied by the layers that build an index and by lengths of context.
struct UnitCosts {
  int64_t index_projections = 0;  // of one full layer
  int64_t index_score = 0;        // of one full layer, per token scored
  int64_t attention = 0;          // of all layers, per token attended to
  int64_t projections = 0;        // of all layers
  int64_t experts = 0;            // of all layers, with the dense MLPs and the routers
  int64_t head = 0;
};

// kv_b_proj is applied once per token in either form: to the new token's latent, or half to its queries and
// half to its outputs.
int64_t projection_weights(const Config& c) {
  const int64_t heads = c.num_attention_heads;
  return c.hidden_size * c.q_lora_rank + c.q_lora_rank * heads * c.qk_head_dim() +
         c.hidden_size * c.latent_width() + c.kv_lora_rank * heads * (c.qk_nope_head_dim + c.v_head_dim) +
         heads * c.v_head_dim * c.hidden_size;
}

int64_t mlp_weights(const Config& c, bool sparse) {
  if (!sparse) return 3 * c.hidden_size * c.intermediate_size;
  const int64_t experts = c.num_experts_per_tok + c.n_shared_experts;
  return c.hidden_size * c.n_routed_experts + experts * 3 * c.hidden_size * c.moe_intermediate_size;
}

UnitCosts unit_costs(const Config& c, AttentionForm form) {
  const AttentionWidths widths = attention_widths(c, form);
  const int64_t index_width = c.index_n_heads * c.index_head_dim;
  UnitCosts costs;
  costs.index_projections =
      2 * (c.q_lora_rank * index_width + c.hidden_size * (c.index_head_dim + c.index_n_heads));
  costs.index_score = 2 * index_width;
  costs.attention = 2 * c.num_hidden_layers * c.num_attention_heads * (widths.key + widths.value);
  costs.projections = 2 * c.num_hidden_layers * projection_weights(c);
  for (const bool sparse : c.mlp_sparse) costs.experts += 2 * mlp_weights(c, sparse);
  costs.head = 2 * c.hidden_size * c.vocab_size;
  return costs;
}

}  // namespace

int64_t FlopCount::total() const {
  int64_t sum = 0;
  for (const int64_t flops : by_part) sum += flops;
  return sum;
}

AttentionWidths attention_widths(const Config& config, AttentionForm form) {
  if (form == AttentionForm::expanded) return {.key = config.qk_head_dim(), .value = config.v_head_dim};
  return {.key = config.latent_width(), .value = config.kv_lora_rank};
}

FlopCount flops_per_token(const Config& config, double full_layers, int64_t context, AttentionForm form) {
  const UnitCosts costs = unit_costs(config, form);
  const auto index_layer = static_cast<double>(costs.index_projections + costs.index_score * context);
  FlopCount count;
  count[Part::index] = std::llround(full_layers * index_layer);
  count[Part::attention] = costs.attention * std::min(context, config.index_topk);
  count[Part::projections] = costs.projections;
  count[Part::experts] = costs.experts;
  count[Part::head] = costs.head;
  return count;
}

FlopCount batch_flops(const Config& config, std::span<const int32_t> positions, int64_t logit_rows) {
  const UnitCosts costs = unit_costs(config, AttentionForm::latent);
  int64_t scored = 0, attended = 0;
  for (const int32_t position : positions) {
    const int64_t context = int64_t{position} + 1;
    if (context > config.index_topk) scored += context;
    attended += std::min(context, config.index_topk);
  }
  const int64_t tokens = std::ssize(positions);
  FlopCount count;
  count[Part::index] = config.full_layers() * (costs.index_projections * tokens + costs.index_score * scored);
  count[Part::attention] = costs.attention * attended;
  count[Part::projections] = costs.projections * tokens;
  count[Part::experts] = costs.experts * tokens;
  count[Part::head] = costs.head * logit_rows;
  return count;
}

}  // namespace indexshare
