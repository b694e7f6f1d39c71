#include "engine/session.h"

#include <algorithm>

#include "base/error.h"

namespace indexshare {
namespace {

Result<void> check_tokens(std::span<const int32_t> tokens, int64_t vocab_size) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= vocab_size) {
      return make_error("token id {} at place {} is outside the vocabulary of {} tokens", tokens[i], i,
                        vocab_size);
    }
  }
  return {};
}

}  // namespace

void Session::truncate(int64_t length) {
  if (length >= std::ssize(tokens_)) return;
  cache_.truncate(length);
  tokens_.resize(static_cast<size_t>(length));
}

Result<int64_t> Session::append(std::span<const int32_t> tokens, LogitsFor wanted,
                                FunctionRef<void(int64_t first, Tensor logits)> on_logits, Progress progress,
                                Probe* probe) {
  const int64_t vocab_size = runner_->config().vocab_size;
  const int64_t context = runner_->options().context;
  const int64_t total = std::ssize(tokens);
  RETURN_IF_ERROR(check_tokens(tokens, vocab_size));
  if (std::ssize(tokens_) + total > context) {
    return make_error("{} tokens are more than the context of {}", std::ssize(tokens_) + total, context);
  }
  int64_t chunk = runner_->options().chunk;
  if (wanted == LogitsFor::all) chunk = std::min(chunk, runner_->max_scored_tokens());
  for (int64_t done = 0; done < total;) {
    if (!progress(done, total)) return done;
    const auto part =
        tokens.subspan(static_cast<size_t>(done), static_cast<size_t>(std::min(chunk, total - done)));
    RETURN_IF_ERROR(cache_.extend(std::ssize(part)));
    const bool last = done + std::ssize(part) == total;
    BatchBuilder& builder = runner_->builder();
    builder.clear();
    builder.add(cache_, part, wanted == LogitsFor::last && !last ? LogitsFor::none : wanted);
    const Tensor logits = runner_->forward(builder.batch(), probe);
    tokens_.insert(tokens_.end(), part.begin(), part.end());
    if (logits.rows > 0) on_logits(done + std::ssize(part) - logits.rows, logits);
    done += std::ssize(part);
  }
  return total;
}

}  // namespace indexshare
