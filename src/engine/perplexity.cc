#include "engine/perplexity.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace indexshare {
namespace {

Result<void> check(std::span<const int32_t> tokens, const PerplexityOptions& options,
                   const ModelRunner& runner) {
  const int64_t context = runner.options().context;
  const int64_t vocab_size = runner.config().vocab_size;
  if (tokens.size() < 2) return make_error("{} token(s) to score, expected at least 2", tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] >= 0 && tokens[i] < vocab_size) continue;
    return make_error("token id {} at place {} is outside the vocabulary of {} tokens", tokens[i], i,
                      vocab_size);
  }
  if (options.window < 2 || options.window > context) {
    return make_error("the window is {}, expected 2 to {}, the context", options.window, context);
  }
  if (options.stride < 1 || options.stride >= options.window) {
    return make_error("the stride is {}, expected 1 to {}, one less than the window", options.stride,
                      options.window - 1);
  }
  return {};
}

// The tokens that a window runs: the last one only has to be predicted.
int64_t run_length(const ScoredWindow& window) {
  return window.end - window.begin - 1;
}

// The log-probabilities of the tokens that a window scores; fewer where `progress`, told of the tokens run,
// stopped it.
Result<std::vector<double>> window_logprobs(Session& session, std::span<const int32_t> tokens,
                                            const ScoredWindow& window,
                                            FunctionRef<bool(int64_t ran)> progress) {
  const auto from = [&](int64_t begin, int64_t end) {
    return tokens.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
  };
  std::vector<double> logprobs;
  const int64_t first_row = window.first_scored - 1;  // a row of logits speaks of the token after it
  const auto score = [&](int64_t first, Tensor logits) {
    for (int64_t i = 0; i < logits.rows; ++i) {
      const std::span<const float> row(logits.row(i), static_cast<size_t>(logits.cols));
      logprobs.push_back(log_probability(row, tokens[static_cast<size_t>(first_row + first + i + 1)]));
    }
  };
  const auto ignore = [](int64_t, Tensor) {};
  const auto context = from(window.begin, first_row);
  const auto watch_context = [&](int64_t ran, int64_t) { return progress(ran); };
  const auto watch_scored = [&](int64_t ran, int64_t) { return progress(std::ssize(context) + ran); };

  session.truncate(0);
  ASSIGN_OR_RETURN(const int64_t read, session.append(context, LogitsFor::none, ignore, watch_context));
  if (read < std::ssize(context)) return logprobs;
  RETURN_IF_ERROR(session.append(from(first_row, window.end - 1), LogitsFor::all, score, watch_scored));
  return logprobs;
}

}  // namespace

double perplexity(double log_likelihood, int64_t tokens) {
  return std::exp(-log_likelihood / static_cast<double>(tokens));
}

std::vector<ScoredWindow> cut_windows(int64_t tokens, const PerplexityOptions& options) {
  std::vector<ScoredWindow> windows;
  int64_t scored = 1;  // the first token has nothing before it
  for (int64_t begin = 0; scored < tokens; begin += options.stride) {
    const int64_t end = std::min(begin + options.window, tokens);
    windows.push_back({.begin = begin, .end = end, .first_scored = scored});
    scored = end;
  }
  return windows;
}

double log_probability(std::span<const float> logits, int32_t id) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float x : logits) sum += std::exp(double{x} - largest);
  return double{logits[static_cast<size_t>(id)]} - largest - std::log(sum);
}

Result<PerplexityResult> score_tokens(Session& session, std::span<const int32_t> tokens,
                                      const PerplexityOptions& options, Progress progress) {
  RETURN_IF_ERROR(check(tokens, options, session.runner()));
  PerplexityResult result;
  const std::vector<ScoredWindow> windows = cut_windows(std::ssize(tokens), options);
  int64_t total = 0, done = 0;
  for (const ScoredWindow& window : windows) total += run_length(window);

  for (ScoredWindow window : windows) {
    const auto watch = [&](int64_t ran) { return progress(done + ran, total); };
    ASSIGN_OR_RETURN(const std::vector<double> logprobs, window_logprobs(session, tokens, window, watch));
    if (std::ssize(logprobs) < window.scored()) {
      result.is_complete = false;
      return result;
    }
    done += run_length(window);
    for (size_t i = 0; i < logprobs.size(); ++i) {
      if (!std::isfinite(logprobs[i])) {
        return make_error("the log-probability of token {} is {}: the model's logits are not finite",
                          window.first_scored + static_cast<int64_t>(i), logprobs[i]);
      }
      window.log_likelihood += logprobs[i];
    }
    result.windows.push_back(window);
    result.token_logprobs.insert(result.token_logprobs.end(), logprobs.begin(), logprobs.end());
  }
  progress(done, total);
  return result;
}

}  // namespace indexshare
