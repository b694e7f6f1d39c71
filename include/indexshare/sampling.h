// The parameters by which one request chooses its tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace indexshare {

inline constexpr int32_t kMaxLogprobs = 20;
inline constexpr float kMaxLogitBias = 100.0f;
inline constexpr float kMaxPenalty = 2.0f;  // of frequency_penalty and presence_penalty, either sign

/// The defaults sample from the model's own distribution.
struct SamplingParams {
  float temperature = 1.0f;         // 0: always the most probable token
  int32_t top_k = 0;                // keep this many tokens; 0 or -1: all
  float top_p = 1.0f;               // keep the fewest tokens that hold this share; 0 keeps one
  float min_p = 0.0f;               // keep tokens at least this probable, in shares of the most probable one
  float repetition_penalty = 1.0f;  // divides positive and multiplies negative logits of prompt and output
  float frequency_penalty = 0.0f;   // subtracted once per occurrence in the output
  float presence_penalty = 0.0f;    // subtracted once if the token occurs in the output
  std::vector<std::pair<int32_t, float>> logit_bias = {};  // token id, what is added to its logit
  uint64_t seed = 0;
  int32_t min_tokens = 0;  // no stop token before this many are out
  std::optional<int32_t> logprobs =
      {};  // report the chosen token's log-probability and this many of the best
};

}  // namespace indexshare
