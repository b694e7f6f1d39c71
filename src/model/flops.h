// The arithmetic of one token or one batch by part, from the configuration alone: 2 FLOPs per multiply-add of
// a matrix product, element-wise work not counted (MODEL: section 7).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "model/config.h"
#include "ops/profile.h"

namespace indexshare {

/// How attention is written down. Both give the same result and need the same projections.
enum class AttentionForm : uint8_t {
  expanded,  // as published: a key of qk_head_dim and a value of v_head_dim per head
  latent,    // as this engine runs: queries and outputs in the latent space, one row serves all heads
};

/// FLOPs by part; `other` has none.
struct FlopCount {
  std::array<int64_t, kParts> by_part{};

  int64_t& operator[](Part part) { return by_part[static_cast<size_t>(part)]; }
  int64_t operator[](Part part) const { return by_part[static_cast<size_t>(part)]; }
  int64_t total() const;
  bool operator==(const FlopCount&) const = default;
};

/// Multiply-adds that attention does per head and token attended to: against a key, and with a value.
struct AttentionWidths {
  int64_t key = 0, value = 0;
};
AttentionWidths attention_widths(const Config& config, AttentionForm form);

/// The published formula: one token with its logits at the end of a context of `context` tokens, itself among
/// them (at most 2^30), where `full_layers` layers build an index. That may be a fraction, as in "one layer
/// in four". A full layer is taken to score the whole context however short it is.
FlopCount flops_per_token(const Config& config, double full_layers, int64_t context, AttentionForm form);

/// What a backend's Profile counts, exactly, for one batch of tokens at these positions in their sequences,
/// `logit_rows` of which want logits: as the formula in its latent form, but a context of at most index_topk
/// is not scored.
FlopCount batch_flops(const Config& config, std::span<const int32_t> positions, int64_t logit_rows);

}  // namespace indexshare
