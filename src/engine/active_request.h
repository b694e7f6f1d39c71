// A request that an engine has taken: how far it is, and what it has said.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cache/sequence.h"
#include "engine/answer_writer.h"
#include "engine/model_runner.h"
#include "indexshare/engine.h"
#include "sample/grammar.h"
#include "sample/sampler.h"

namespace indexshare {

/// Fails where a request cannot be met by this model, with a sentence that names the field.
Result<void> check_request(const GenerationRequest& request, const ModelRunner& runner);

/// It knows its tokens and its cache, and what to do with logits; who runs it, and when, is not its business:
/// see EngineLoop.
class ActiveRequest {
 public:
  using Clock = std::chrono::steady_clock;

  /// `request` has passed check_request(); `runner` must outlive this.
  ActiveRequest(RequestId id, GenerationRequest request, GenerationCallbacks callbacks, ModelRunner& runner);

  RequestId id() const { return id_; }
  int32_t priority() const { return request_.priority; }
  bool goes_before(const ActiveRequest& other) const {
    return priority() != other.priority() ? priority() > other.priority() : id_ < other.id_;
  }

  /// The prompt, and what was generated.
  std::span<const int32_t> tokens() const { return tokens_; }
  std::span<const int32_t> prompt() const { return std::span(tokens_).first(prompt_length_); }
  SequenceCache& cache() { return cache_; }
  const SequenceCache& cache() const { return cache_; }
  int64_t pending() const { return std::ssize(tokens_) - cache_.length(); }
  bool reads_prompt() const { return result_.ids.empty(); }

  /// Whether the logits of every prompt token are wanted: then nothing of it may come from another cache.
  bool scores_prompt() const {
    return request_.prompt_logprobs && std::ssize(result_.prompt_logprobs) + 1 < std::ssize(prompt());
  }

  bool is_late(Clock::time_point now) const { return deadline_ && now >= *deadline_; }

  /// Goes on with a cache of the first tokens, of all but the last one at most; `end` says why no more of
  /// them.
  void start(SequenceCache cache, PrefixEnd end);

  /// What start() was given is of no use any more.
  void give_cache_back() { cache_.truncate(0); }

  /// Tells how much of the prompt is read; false: whoever asked wants no more.
  bool report_progress();

  /// What a pass over some of its tokens cost.
  void add_work(const Work& work) {
    (reads_prompt() ? result_.timings.prefill : result_.timings.decode) += work;
  }

  /// The logits of prompt tokens from number `first` on.
  void score_prompt(int64_t first, Tensor logits, SamplerWorkspace& ws);

  /// Chooses the next token by the logits of the last one, which are overwritten. True once the answer has
  /// ended, or failed; then end() follows.
  bool take_logits(std::span<float> logits, SamplerWorkspace& ws);

  /// Ends it early.
  void stop(FinishReason reason) { result_.finish_reason = reason; }
  void fail(Error error) { error_ = std::move(error); }

  /// Says so: its last call of all.
  void end();
  const GenerationResult& result() const { return result_; }
  bool failed() const { return error_.has_value(); }

 private:
  bool accept(const SampledToken& token);
  int64_t message_at(int64_t position) const;
  bool reasons_too_long() const;
  std::span<const int32_t> suppressed();
  bool is_bound() const { return matcher_ && !writer_.inside_reasoning(); }
  int64_t token_limit() const;

  RequestId id_;
  GenerationRequest request_;  // without the prompt
  GenerationCallbacks callbacks_;
  const ModelRunner& runner_;
  size_t prompt_length_;
  std::vector<int32_t> tokens_;
  std::vector<int32_t> stop_ids_;
  std::vector<int32_t> suppressed_;  // where the next token is chosen
  bool reasoning_cut_ = false;       // by max_reasoning_tokens
  Sampler sampler_;
  AnswerWriter writer_;
  std::optional<GrammarMatcher> matcher_;  // where the answer is bound to a form
  SequenceCache cache_;
  bool started_ = false;
  std::optional<Clock::time_point> deadline_;
  Clock::time_point submitted_, begun_, answered_;  // answered: when the first token came
  GenerationResult result_;
  std::optional<Error> error_;
};

}  // namespace indexshare
