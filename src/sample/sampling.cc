#include "sample/sampling.h"

#include <cmath>
#include <limits>
#include <string_view>

#include "base/error.h"

namespace indexshare {
namespace {

struct Range {
  std::string_view name;
  float value;
  float min;
  float max;
  std::string_view words;
};

Result<void> check(const Range& range) {
  if (range.value >= range.min && range.value <= range.max) return {};  // a NaN fails both
  return make_error("{} is {}, expected {}", range.name, range.value, range.words);
}

Result<void> check_logit_bias(const SamplingParams& params, int64_t vocab_size) {
  for (const auto& [id, bias] : params.logit_bias) {
    if (id < 0 || id >= vocab_size) {
      return make_error("logit_bias names the token {}, expected an id from 0 to {}", id, vocab_size - 1);
    }
    if (!(std::abs(bias) <= kMaxLogitBias)) {
      return make_error("logit_bias of the token {} is {}, expected a number from {} to {}", id, bias,
                        -kMaxLogitBias, kMaxLogitBias);
    }
  }
  return {};
}

}  // namespace

Result<void> validate(const SamplingParams& params, int64_t vocab_size) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  constexpr float kSmallest = std::numeric_limits<float>::min();
  for (const Range& range : {
           Range{"temperature", params.temperature, 0.0f, kLargest, "a finite number of at least 0"},
           Range{"top_p", params.top_p, 0.0f, 1.0f, "a number from 0 to 1"},
           Range{"min_p", params.min_p, 0.0f, 1.0f, "a number from 0 to 1"},
           Range{"repetition_penalty", params.repetition_penalty, kSmallest, kLargest,
                 "a finite number above 0"},
           Range{"frequency_penalty", params.frequency_penalty, -kMaxPenalty, kMaxPenalty,
                 "a number from -2 to 2"},
           Range{"presence_penalty", params.presence_penalty, -kMaxPenalty, kMaxPenalty,
                 "a number from -2 to 2"},
       }) {
    RETURN_IF_ERROR(check(range));
  }
  if (params.top_k < -1) {
    return make_error("top_k is {}, expected a count of at least 1, or 0 or -1 for all tokens", params.top_k);
  }
  if (params.min_tokens < 0) {
    return make_error("min_tokens is {}, expected a count of at least 0", params.min_tokens);
  }
  if (params.logprobs && (*params.logprobs < 0 || *params.logprobs > kMaxLogprobs)) {
    return make_error("logprobs is {}, expected a count from 0 to {}", *params.logprobs, kMaxLogprobs);
  }
  return check_logit_bias(params, vocab_size);
}

}  // namespace indexshare
