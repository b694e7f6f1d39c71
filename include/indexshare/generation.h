// One answer: what is asked for, what comes while it is generated, and what it was in the end.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "indexshare/constraint.h"
#include "indexshare/result.h"
#include "indexshare/sampling.h"
#include "indexshare/work.h"

namespace indexshare {

struct GenerationRequest {
  std::vector<int32_t> prompt;  // 1 token or more, fewer than the context
  SamplingParams sampling;
  std::optional<int64_t> max_tokens;  // none: as many as the context holds; 0: the prompt is only read
  std::optional<int64_t> max_reasoning_tokens;  // then </think> follows, whatever the model would say, and no
                                                // other marker of reasoning; none: any number
  std::shared_ptr<const Grammar> grammar;  // that binds the answer, once it has reasoned, which ends where
                                           // nothing may be added; by compile() of the same engine
  std::vector<std::string> stop;           // the answer ends before one of these texts
  std::vector<int32_t> stop_ids;           // beside the model's own
  bool ignore_eos = false;                 // the model's own stop ids do not stop
  bool include_stop = false;               // the stop text, where one was met, is part of the answer
  bool whole_text = false;  // `text` is that of all tokens: special ones, reasoning and its markers included
  std::optional<int32_t> prompt_logprobs;  // report the prompt tokens' log-probabilities and this many of the
                                           // best; such a prompt is read from its first token
  int32_t priority = 0;                    // higher goes before lower; the earlier before the later
  double timeout_seconds = 0;              // from its submission on; 0: none
};

enum class FinishReason : uint8_t {
  stop,       // a stop token or text
  length,     // max_tokens or the context
  cancelled,  // by whoever asked
  timeout,    // timeout_seconds
};

constexpr std::string_view finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::stop: return "stop";
    case FinishReason::length: return "length";
    case FinishReason::cancelled: return "cancelled";
    case FinishReason::timeout: return "timeout";
  }
  return "";
}

/// Why no more of a prompt was kept from earlier requests.
enum class PrefixEnd : uint8_t {
  whole,    // all of it was, but the last token, which is always run
  ended,    // what was kept ends there, and the prompt goes on
  differs,  // what was kept goes on with another token
  evicted,  // it was kept once, and has been given up for want of room
  nothing,  // nothing that is kept begins alike
  unused,   // nothing was looked for: prompt_logprobs, or an engine that does not reuse prefixes
};
inline constexpr int kPrefixEnds = 6;

constexpr std::string_view prefix_end_name(PrefixEnd end) {
  switch (end) {
    case PrefixEnd::whole: return "whole";
    case PrefixEnd::ended: return "ended";
    case PrefixEnd::differs: return "differs";
    case PrefixEnd::evicted: return "evicted";
    case PrefixEnd::nothing: return "nothing";
    case PrefixEnd::unused: return "unused";
  }
  return "";
}

struct TokenLogprob {
  int32_t id = 0;
  float logprob = 0;  // log-softmax of the model's own logits
};

/// What the model thought of a token and of those it would rather have had there.
struct TokenLogprobs {
  float logprob = 0;
  int64_t rank = 0;               // 1: the most probable
  std::vector<TokenLogprob> top;  // best first
};

/// A piece of the answer as it becomes certain. `text` is whole UTF-8 and may be empty.
struct GeneratedPiece {
  int32_t id = 0;
  std::string text;
  bool reasoning = false;                 // between <think> and </think>
  std::optional<TokenLogprobs> logprobs;  // where the request asked
};

/// `work` is that of all passes that the request had a part in, its batch mates' included.
struct GenerationTimings {
  double queue_seconds = 0, prefill_seconds = 0, decode_seconds = 0;
  Work prefill, decode;
};

struct GenerationResult {
  std::vector<int32_t> ids;  // all that were generated, the stop token among them
  std::string text;          // the answer, without stop token, stop text and reasoning
  std::string reasoning;
  FinishReason finish_reason = FinishReason::stop;
  std::string stop_text;                       // the one that was met, if any
  std::vector<TokenLogprobs> logprobs;         // per id, where the request asked
  std::vector<TokenLogprobs> prompt_logprobs;  // per prompt token but the first, where the request asked
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;                 // of the prompt, that did not have to be read again
  PrefixEnd prefix_end = PrefixEnd::unused;  // why not token number `cached_tokens`, counted from 0
  int64_t prefix_message = -1;  // the message which that token is in, counted from 0 by the tokens that begin
                                // messages in GLM's prompts; -1: none
  int64_t reasoning_tokens = 0;
  GenerationTimings timings;
};

/// What a request says as it goes. All are called from the engine's thread: they should be quick, must not
/// throw, and may ask nothing of the engine but submit() and cancel(). Any may be left empty.
struct GenerationCallbacks {
  /// Prompt tokens read so far, before each pass over more; false cancels.
  std::function<bool(int64_t done, int64_t total)> on_prompt;
  /// Once for each token, and for what text remains at the end; false cancels.
  std::function<bool(const GeneratedPiece& piece)> on_piece;
  /// Once, last.
  std::function<void(Result<GenerationResult> result)> on_end;
};

}  // namespace indexshare
