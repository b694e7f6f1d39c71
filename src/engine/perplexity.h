// How well a model predicts given tokens.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/session.h"

namespace indexshare {

/// Tokens are scored in windows of at most `window` tokens that begin every `stride` tokens. A window scores
/// what the one before it did not reach, so each token but the first is scored once, and all but those of the
/// first window after at least window - stride others.
struct PerplexityOptions {
  int64_t window = 2048;  // 2 or more
  int64_t stride = 1024;  // 1 to window - 1
};

struct ScoredWindow {
  int64_t begin = 0;  // of tokens [begin, end)
  int64_t end = 0;
  int64_t first_scored =
      0;  // [first_scored, end) are scored, each after all that stand before it from begin on
  double log_likelihood = 0;

  int64_t scored() const { return end - first_scored; }
};

struct PerplexityResult {
  std::vector<ScoredWindow> windows;
  std::vector<double> token_logprobs;  // of all tokens but the first, where none was left out
  bool is_complete = true;             // false: `progress` stopped after these windows
};

/// exp(-log_likelihood / tokens)
double perplexity(double log_likelihood, int64_t tokens);

/// The windows that `tokens` tokens are cut into; their log-likelihoods are 0 yet.
std::vector<ScoredWindow> cut_windows(int64_t tokens, const PerplexityOptions& options);

/// log softmax(logits)[id], in double.
double log_probability(std::span<const float> logits, int32_t id);

/// Scores at least 2 tokens. The session is left with an arbitrary beginning of them. `progress` counts the
/// tokens run, context included.
Result<PerplexityResult> score_tokens(Session& session, std::span<const int32_t> tokens,
                                      const PerplexityOptions& options, Progress progress);

}  // namespace indexshare
