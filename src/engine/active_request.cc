#include "engine/active_request.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace indexshare {
namespace {

constexpr double kMaxTimeoutSeconds = 1e9;

double seconds_between(ActiveRequest::Clock::time_point a, ActiveRequest::Clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

Result<void> check_ids(const std::vector<int32_t>& ids, std::string_view what, int64_t vocab_size) {
  for (const int32_t id : ids) {
    if (id < 0 || id >= vocab_size) {
      return make_error("{} id {} is outside the vocabulary of {} tokens", what, id, vocab_size);
    }
  }
  return {};
}

Result<void> check_lengths(const GenerationRequest& request, int64_t context) {
  const int64_t length = std::ssize(request.prompt);
  const int64_t max_tokens = request.max_tokens.value_or(1);
  if (length == 0) return make_error("the prompt is empty: at least one token is needed");
  if (max_tokens < 0) return make_error("max_tokens is {}, expected 0 or more", max_tokens);
  if (length + std::min<int64_t>(max_tokens, 1) > context) {
    return make_error("the prompt of {} tokens leaves no room in the context of {}", length, context);
  }
  if (request.max_reasoning_tokens.value_or(0) < 0) {
    return make_error("max_reasoning_tokens is {}, expected 0 or more", *request.max_reasoning_tokens);
  }
  if (request.max_tokens && request.sampling.min_tokens > max_tokens) {
    return make_error("min_tokens is {}, more than max_tokens {}", request.sampling.min_tokens, max_tokens);
  }
  return {};
}

TokenLogprobs copy(float logprob, int64_t rank, std::span<const TokenLogprob> top) {
  return {.logprob = logprob, .rank = rank, .top = {top.begin(), top.end()}};
}

}  // namespace

Result<void> check_request(const GenerationRequest& request, const ModelRunner& runner) {
  const int64_t vocab_size = runner.config().vocab_size;
  RETURN_IF_ERROR(validate(request.sampling, vocab_size));
  RETURN_IF_ERROR(check_lengths(request, runner.options().context));
  RETURN_IF_ERROR(check_ids(request.prompt, "prompt token", vocab_size));
  RETURN_IF_ERROR(check_ids(request.stop_ids, "stop token", vocab_size));
  for (const std::string& stop : request.stop) {
    if (stop.empty()) return make_error("a stop string is empty");
  }
  if (request.grammar && !runner.made(*request.grammar)) {
    return make_error("grammar was made by another engine, expected one by compile() of this one");
  }
  if (!request.stop.empty() && runner.tokenizer() == nullptr) {
    return make_error(ErrorCode::unsupported, "stop strings need a tokenizer, and this model has none");
  }
  if (request.prompt_logprobs && (*request.prompt_logprobs < 0 || *request.prompt_logprobs > kMaxLogprobs)) {
    return make_error("prompt_logprobs is {}, expected a count from 0 to {}", *request.prompt_logprobs,
                      kMaxLogprobs);
  }
  if (!(request.timeout_seconds >= 0 && request.timeout_seconds <= kMaxTimeoutSeconds)) {
    return make_error("timeout_seconds is {}, expected 0 (none) to {}", request.timeout_seconds,
                      kMaxTimeoutSeconds);
  }
  return {};
}

ActiveRequest::ActiveRequest(RequestId id, GenerationRequest request, GenerationCallbacks callbacks,
                             ModelRunner& runner)
    : id_(id),
      request_(std::move(request)),
      callbacks_(std::move(callbacks)),
      runner_(runner),
      prompt_length_(request_.prompt.size()),
      stop_ids_(request_.stop_ids),
      sampler_(request_.sampling, runner.config().vocab_size, request_.prompt),
      writer_(runner, request_),
      cache_(runner.pool()),
      submitted_(Clock::now()) {
  tokens_ = std::move(request_.prompt);
  if (!request_.ignore_eos) {
    stop_ids_.insert(stop_ids_.end(), runner.stop_ids().begin(), runner.stop_ids().end());
  }
  if (request_.grammar) matcher_.emplace(request_.grammar, stop_ids_);
  if (request_.timeout_seconds > 0) {
    deadline_ = submitted_ + std::chrono::duration_cast<Clock::duration>(
                                 std::chrono::duration<double>(request_.timeout_seconds));
  }
  begun_ = answered_ = submitted_;
  result_.prompt_tokens = static_cast<int64_t>(prompt_length_);
}

void ActiveRequest::start(SequenceCache cache, PrefixEnd end) {
  cache.truncate(std::min(cache.length(), std::ssize(tokens_) - 1));
  cache_ = std::move(cache);
  if (std::exchange(started_, true)) return;  // it was preempted, and goes on
  begun_ = answered_ = Clock::now();
  result_.cached_tokens = cache_.length();
  result_.prefix_end = end;
  result_.prefix_message = message_at(cache_.length());
  result_.timings.queue_seconds = seconds_between(submitted_, begun_);
}

// The message that a token of the prompt is in, by those that begin messages; -1: none.
int64_t ActiveRequest::message_at(int64_t position) const {
  const std::vector<int32_t>& roles = runner_.markers().roles;
  const auto begins = [&](int32_t id) { return std::ranges::find(roles, id) != roles.end(); };
  return std::ranges::count_if(tokens().first(static_cast<size_t>(position) + 1), begins) - 1;
}

bool ActiveRequest::report_progress() {
  if (!callbacks_.on_prompt || !reads_prompt()) return true;
  const int64_t done = cache_.length() - result_.cached_tokens;
  return callbacks_.on_prompt(done, result_.prompt_tokens - result_.cached_tokens);
}

void ActiveRequest::score_prompt(int64_t first, Tensor logits, SamplerWorkspace& ws) {
  for (int64_t row = 0; row < logits.rows; ++row) {
    const int64_t next = first + row + 1;  // the token that this row predicts
    if (next >= result_.prompt_tokens || next != std::ssize(result_.prompt_logprobs) + 1) continue;
    ws.raw.assign(logits.row(row), logits.row(row) + logits.cols);
    remove_non_numbers(ws.raw);
    const LogprobReport report =
        report_logprobs(ws.raw, tokens_[static_cast<size_t>(next)], *request_.prompt_logprobs, ws);
    result_.prompt_logprobs.push_back(copy(report.logprob, report.rank, report.top));
  }
}

int64_t ActiveRequest::token_limit() const {
  const int64_t room = runner_.options().context - result_.prompt_tokens;
  return std::min(request_.max_tokens.value_or(room), room);
}

bool ActiveRequest::take_logits(std::span<float> logits, SamplerWorkspace& ws) {
  if (reads_prompt()) {
    answered_ = Clock::now();
    result_.timings.prefill_seconds = seconds_between(begun_, answered_);
  }
  if (token_limit() == 0) {
    stop(FinishReason::length);
    return true;
  }
  if (reasons_too_long()) {
    reasoning_cut_ = true;
    return accept(sampler_.report(logits, *runner_.markers().end_think, ws));
  }
  const std::span<const uint32_t> allowed = is_bound() ? matcher_->allowed() : std::span<const uint32_t>();
  const SampledToken token = sampler_.sample(logits, std::ssize(tokens_), suppressed(), ws, allowed);
  if (token.exhausted && is_bound()) {
    const std::string_view form = constraint_kind_name(matcher_->kind());
    fail(matcher_->is_lost()
             ? make_error("the answer's form, {}, cannot be followed beyond position {}: there are too many "
                          "ways in which the text could be of it",
                          form, tokens_.size())
             : make_error("no token is left for position {}: the answer's form, {}, allows none that "
                          "min_tokens, stop_ids and the model's logits leave",
                          tokens_.size(), form));
    return true;
  }
  if (token.exhausted) {
    fail(make_error("the model's logits for position {} are not finite: its weights may be damaged",
                    tokens_.size()));
    return true;
  }
  return accept(token);
}

bool ActiveRequest::reasons_too_long() const {
  return request_.max_reasoning_tokens && writer_.inside_reasoning() && runner_.markers().end_think &&
         result_.reasoning_tokens >= *request_.max_reasoning_tokens;
}

// Tokens that may not come next: none that stops before min_tokens, or in the reasoning before an answer that
// must have a form; and once reasoning was cut no marker of it, as the model, which had not ended it, tends
// to go on with it and to close it again.
std::span<const int32_t> ActiveRequest::suppressed() {
  suppressed_.clear();
  if (std::ssize(result_.ids) < request_.sampling.min_tokens || (matcher_ && writer_.inside_reasoning())) {
    suppressed_.insert(suppressed_.end(), stop_ids_.begin(), stop_ids_.end());
  }
  if (reasoning_cut_) {
    for (const auto& marker : {runner_.markers().think, runner_.markers().end_think}) {
      if (marker) suppressed_.push_back(*marker);
    }
  }
  return suppressed_;
}

bool ActiveRequest::accept(const SampledToken& token) {
  sampler_.accept(token.id);
  tokens_.push_back(token.id);
  result_.ids.push_back(token.id);
  GeneratedPiece piece{.id = token.id, .text = {}, .reasoning = false, .logprobs = {}};
  if (token.logprob) {
    piece.logprobs = result_.logprobs.emplace_back(copy(*token.logprob, token.rank, token.top));
  }
  const bool too_early = std::ssize(result_.ids) <= request_.sampling.min_tokens;
  if (!too_early && std::find(stop_ids_.begin(), stop_ids_.end(), token.id) != stop_ids_.end()) {
    stop(FinishReason::stop);
    return true;
  }
  if (is_bound()) matcher_->accept(token.id);  // where that fails, nothing is allowed next
  piece.reasoning = writer_.reasoning();
  piece.text = writer_.push(token.id, result_);
  if (callbacks_.on_piece && !callbacks_.on_piece(piece)) {
    stop(FinishReason::cancelled);
    return true;
  }
  if (writer_.stopped() || (is_bound() && matcher_->must_end())) {
    stop(FinishReason::stop);
    return true;
  }
  stop(FinishReason::length);
  return std::ssize(result_.ids) >= token_limit();
}

void ActiveRequest::end() {
  if (!error_ && !result_.ids.empty()) {
    const bool reasoning = writer_.reasoning();
    if (std::string rest = writer_.finish(result_); !rest.empty() && callbacks_.on_piece) {
      (void)callbacks_.on_piece({result_.ids.back(), std::move(rest), reasoning, {}});
    }
  }
  const auto now = Clock::now();
  if (!started_) {
    result_.timings.queue_seconds = seconds_between(submitted_, now);
  } else if (reads_prompt()) {
    result_.timings.prefill_seconds = seconds_between(begun_, now);
  } else {
    result_.timings.decode_seconds = seconds_between(answered_, now);
  }
  if (!callbacks_.on_end) return;
  if (error_) {
    callbacks_.on_end(*error_);
  } else {
    callbacks_.on_end(std::move(result_));
  }
}

}  // namespace indexshare
