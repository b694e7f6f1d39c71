// How large a model is: parameters by part, those active for a token, and the bytes they are stored in.
#pragma once

#include <cstdint>

#include "model/config.h"
#include "model/weights.h"

namespace indexshare {

/// Parameters by part, from the config alone.
struct ParameterCount {
  int64_t embed_tokens = 0;
  int64_t lm_head = 0;         // also where it is embed_tokens itself
  int64_t tied = 0;            // of lm_head: counted already as embed_tokens
  int64_t attention = 0;       // projections, their biases and norms
  int64_t indexer = 0;         // of the full layers
  int64_t dense_mlp = 0;       // of the dense layers
  int64_t router = 0;          // with the correction biases
  int64_t routed_experts = 0;  // all of them
  int64_t active_experts = 0;  // of routed_experts: those that serve one token
  int64_t shared_experts = 0;
  int64_t norms = 0;  // of the residual stream
  int64_t mtp = 0;    // the MTP layer, a part of neither sum

  int64_t total() const;
  int64_t active() const;  // what one token is multiplied with: embed_tokens is only looked up
};

ParameterCount count_parameters(const Config& config);

/// Bytes of weights as stored, scales included. Norms and biases count as the f32 they are held in.
struct WeightBytes {
  int64_t embed_tokens = 0;
  int64_t lm_head = 0;  // 0 where it is embed_tokens itself
  int64_t attention = 0;
  int64_t indexer = 0;
  int64_t dense_mlp = 0;
  int64_t router = 0;
  int64_t routed_experts = 0;
  int64_t shared_experts = 0;
  int64_t norms = 0;             // of the residual stream
  int64_t mtp = 0;               // the MTP layer, a part of neither sum
  int64_t active_per_token = 0;  // what is read to decode one token

  int64_t total() const;
};

/// Of bound weights, or of shapes alone.
WeightBytes weight_bytes(const Config& config, const Weights& weights);

}  // namespace indexshare
