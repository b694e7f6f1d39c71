// One answer: prompt in, tokens out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/session.h"
#include "sample/sampling.h"

namespace indexshare {

struct GenerationRequest {
  std::vector<int32_t> prompt;  // the whole sequence so far; what the session already holds of it is reused
  SamplingParams sampling;
  int64_t max_tokens = 0;  // 0: as many as the context holds
  std::vector<std::string> stop;
  std::vector<int32_t> stop_ids;  // beside the model's own
  bool ignore_eos = false;        // the model's own stop ids do not stop
};

enum class FinishReason : uint8_t { stop, length, cancelled };
std::string_view finish_reason_name(FinishReason reason);

struct TokenLogprobs {
  float logprob = 0;
  std::vector<std::pair<int32_t, float>> top;  // best first
};

/// A piece of the answer as it becomes certain. `text` is whole UTF-8 and may be empty.
struct GeneratedPiece {
  int32_t id = 0;
  std::string_view text;
  bool reasoning = false;  // between <think> and </think>
};

struct GenerationTimings {
  double prefill_seconds = 0, decode_seconds = 0;
  Profile prefill, decode;
};

struct GenerationResult {
  std::vector<int32_t> ids;  // all that were generated, the stop token among them
  std::string text;          // the answer, without stop token, stop string and reasoning
  std::string reasoning;
  FinishReason finish_reason = FinishReason::stop;
  std::vector<TokenLogprobs> logprobs;  // per id, where the request asked
  int64_t prompt_tokens = 0, cached_tokens = 0, reasoning_tokens = 0;
  GenerationTimings timings;
};

/// Called for each token; false cancels.
using OnPiece = FunctionRef<bool(const GeneratedPiece& piece)>;

/// Checks the request, brings the session to its prompt and generates. The session then holds the prompt and
/// all generated tokens but the last. `progress` watches the prompt and may cancel.
Result<GenerationResult> generate(Session& session, const GenerationRequest& request, OnPiece on_piece,
                                  Progress progress);

}  // namespace indexshare
