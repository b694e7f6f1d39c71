// One sequence of tokens and its cache.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "engine/model_runner.h"

namespace indexshare {

/// Called before each chunk of a long append with the tokens done so far; false stops there.
using Progress = FunctionRef<bool(int64_t done, int64_t total)>;

class Session {
 public:
  explicit Session(ModelRunner& runner) : runner_(&runner), cache_(runner.pool()) {
    tokens_.reserve(static_cast<size_t>(runner.options().context));  // so that appending never allocates
  }

  /// Goes on from a cache that holds `tokens`.
  Session(ModelRunner& runner, SequenceCache cache, std::span<const int32_t> tokens)
      : runner_(&runner), cache_(std::move(cache)), tokens_(tokens.begin(), tokens.end()) {}

  ModelRunner& runner() const { return *runner_; }
  std::span<const int32_t> tokens() const { return tokens_; }

  /// Forgets all tokens from number `length` on.
  void truncate(int64_t length);

  /// Runs `tokens` through the model, chunk by chunk. `on_logits(first, logits)` gets the rows that `wanted`
  /// asks for, `first` the index in `tokens` that the first row belongs to. Refuses ids outside the
  /// vocabulary and more tokens than the context. Returns how many tokens were run: all, unless `progress`
  /// stopped it.
  Result<int64_t> append(std::span<const int32_t> tokens, LogitsFor wanted,
                         FunctionRef<void(int64_t first, Tensor logits)> on_logits, Progress progress,
                         Probe* probe = nullptr);

 private:
  ModelRunner* runner_;
  SequenceCache cache_;
  std::vector<int32_t> tokens_;
};

}  // namespace indexshare
