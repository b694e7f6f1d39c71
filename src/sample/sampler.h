// Chooses the next token of one sequence from the model's logits. The order of the steps is vLLM's:
// suppressed tokens and what is not allowed, logit_bias, repetition, frequency and presence penalty; then,
// unless the temperature is 0, temperature, min_p, top_k and top_p, each over what the one before has kept.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "indexshare/generation.h"
#include "sample/sampling.h"

namespace indexshare {

/// Log-probabilities are those of the model's own distribution: the log-softmax of the logits as they
/// came, before any step above. `top` lists the best tokens first and lies in the workspace.
struct SampledToken {
  int32_t id = 0;
  bool exhausted = false;        // no logit was above minus infinity: `id` only stands in for a token
  std::optional<float> logprob;  // if SamplingParams::logprobs asks
  int64_t rank = 0;              // likewise: 1 for the most probable token
  std::span<const TokenLogprob> top;
};

/// The buffers of `sample`, for any number of samplers one after another. They grow to the largest
/// vocabulary met and stay.
struct SamplerWorkspace {
  struct Candidate {
    float logit;
    int32_t id;
  };
  std::vector<float> raw;  // [vocab_size] the logits as they came, if log-probabilities are asked for
  std::vector<Candidate> candidates;  // the best tokens, best first
  std::vector<double> cumulative;     // [candidates] sums of their unnormalised probabilities
  std::vector<TokenLogprob> top;
};

/// What a distribution says of the token `id`, and its `top` best, which lie in the workspace. No logit is a
/// NaN.
struct LogprobReport {
  float logprob = 0;
  int64_t rank = 0;
  std::span<const TokenLogprob> top;
};
LogprobReport report_logprobs(std::span<const float> logits, int32_t id, int32_t top, SamplerWorkspace& ws);

/// A NaN becomes minus infinity, plus infinity the largest float.
void remove_non_numbers(std::span<float> logits);

class Sampler {
 public:
  /// `params` have passed `validate`; `prompt` holds ids of the vocabulary.
  Sampler(SamplingParams params, int64_t vocab_size, std::span<const int32_t> prompt);

  /// The token for `position`, the number of tokens before it. The draw depends on the arguments, the
  /// seed and the accepted tokens alone. `logits` [vocab_size] are overwritten; a NaN counts as minus
  /// infinity, plus infinity as the largest float. Of equal logits the lower id comes first. Tokens
  /// in `suppressed` are not chosen, nor those without a bit in `allowed`, unless that is empty.
  SampledToken sample(std::span<float> logits, int64_t position, std::span<const int32_t> suppressed,
                      SamplerWorkspace& ws, std::span<const uint32_t> allowed = {}) const;

  /// What sample() would tell of `id`, had it chosen that.
  SampledToken report(std::span<float> logits, int32_t id, SamplerWorkspace& ws) const;

  /// Counts `id` as output: the penalties of the next token see it.
  void accept(int32_t id);

  int64_t accepted() const { return accepted_; }
  const SamplingParams& params() const { return params_; }

 private:
  void begin(std::span<float> logits, SamplerWorkspace& ws) const;
  void add_logprobs(SampledToken& token, SamplerWorkspace& ws) const;
  void transform(std::span<float> logits, std::span<const int32_t> suppressed) const;
  int32_t draw(std::span<const float> logits, float largest, double uniform, SamplerWorkspace& ws) const;

  /// How often a token stands in the text so far.
  struct Uses {
    uint32_t in_prompt : 1 = 0;
    uint32_t in_output : 31 = 0;
  };

  SamplingParams params_;
  int64_t accepted_ = 0;
  std::vector<Uses> uses_;  // [vocab_size], empty without penalties
};

}  // namespace indexshare
