#include "engine/generate.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "engine/stop_matcher.h"
#include "sample/sampler.h"
#include "text/stream_decoder.h"

namespace indexshare {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Result<void> check(const GenerationRequest& request, const Engine& engine) {
  RETURN_IF_ERROR(validate(request.sampling, engine.config().vocab_size));
  if (request.prompt.empty()) return make_error("the prompt is empty: at least one token is needed");
  if (request.max_tokens < 0) return make_error("max_tokens is {}, expected 0 or more", request.max_tokens);
  const int64_t length = std::ssize(request.prompt);
  if (length >= engine.options().context) {
    return make_error("the prompt of {} tokens leaves no room in the context of {}", length,
                      engine.options().context);
  }
  for (const int32_t id : request.prompt) {
    if (id < 0 || id >= engine.config().vocab_size) {
      return make_error("prompt token id {} is outside the vocabulary of {} tokens", id,
                        engine.config().vocab_size);
    }
  }
  if (request.max_tokens > 0 && request.sampling.min_tokens > request.max_tokens) {
    return make_error("min_tokens is {}, more than max_tokens {}", request.sampling.min_tokens,
                      request.max_tokens);
  }
  for (const int32_t id : request.stop_ids) {
    if (id < 0 || id >= engine.config().vocab_size) {
      return make_error("stop token id {} is outside the vocabulary of {} tokens", id,
                        engine.config().vocab_size);
    }
  }
  for (const std::string& stop : request.stop) {
    if (stop.empty()) return make_error("a stop string is empty");
  }
  if (!request.stop.empty() && engine.tokenizer() == nullptr) {
    return make_error("stop strings need a tokenizer, and this model has none");
  }
  return {};
}

// Whether text that follows these tokens is reasoning: the last marker opened it.
bool ends_inside_reasoning(std::span<const int32_t> tokens, const MarkerTokens& markers) {
  for (auto id = tokens.rbegin(); id != tokens.rend(); ++id) {
    if (markers.end_think && *id == *markers.end_think) return false;
    if (markers.think && *id == *markers.think) return true;
  }
  return false;
}

// Turns ids into the two texts of an answer.
class AnswerWriter {
 public:
  AnswerWriter(const Engine& engine, const GenerationRequest& request, GenerationResult& result)
      : markers_(engine.markers()),
        matcher_(request.stop),
        result_(result),
        reasoning_(ends_inside_reasoning(request.prompt, engine.markers())) {
    if (engine.tokenizer() != nullptr) decoder_.emplace(*engine.tokenizer(), /*skip_special=*/true);
  }

  bool reasoning() const { return reasoning_; }
  bool stopped() const { return matcher_.stopped(); }

  // The text that `id` makes certain.
  std::string push(int32_t id) {
    if (markers_.think && id == *markers_.think) return switch_to(true);
    if (markers_.end_think && id == *markers_.end_think) return switch_to(false);
    if (reasoning_) ++result_.reasoning_tokens;
    return decoder_ ? write(decoder_->push(id)) : std::string();
  }

  std::string finish() {
    if (!decoder_ || stopped()) return {};
    std::string text = write(decoder_->flush());
    if (!reasoning_ && !stopped()) text += append(matcher_.flush());
    return text;
  }

 private:
  std::string switch_to(bool reasoning) {
    std::string rest = finish();
    reasoning_ = reasoning;
    return rest;
  }
  // Stop strings are looked for in the answer alone.
  std::string write(const std::string& text) { return append(reasoning_ ? text : matcher_.push(text)); }
  std::string append(std::string text) {
    (reasoning_ ? result_.reasoning : result_.text) += text;
    return text;
  }

  MarkerTokens markers_;
  StopMatcher matcher_;
  GenerationResult& result_;
  std::optional<StreamDecoder> decoder_;
  bool reasoning_;
};

bool contains(const std::vector<int32_t>& ids, int32_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

}  // namespace

std::string_view finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::stop: return "stop";
    case FinishReason::length: return "length";
    case FinishReason::cancelled: return "cancelled";
  }
  return "";
}

Result<GenerationResult> generate(Session& session, const GenerationRequest& request, OnPiece on_piece,
                                  Progress progress) {
  Engine& engine = session.engine();
  RETURN_IF_ERROR(check(request, engine));
  const Profile& profile = engine.model().backend().profile();
  GenerationResult result;
  result.prompt_tokens = std::ssize(request.prompt);

  std::vector<int32_t> stop_ids = request.stop_ids;
  if (!request.ignore_eos)
    stop_ids.insert(stop_ids.end(), engine.stop_ids().begin(), engine.stop_ids().end());
  Sampler sampler(request.sampling, engine.config().vocab_size, request.prompt);
  SamplerWorkspace sampler_workspace;
  AnswerWriter writer(engine, request, result);

  Profile before = profile;
  Clock::time_point start = Clock::now();
  result.cached_tokens = session.rewind_to(request.prompt);
  const auto rest = std::span(request.prompt).subspan(static_cast<size_t>(result.cached_tokens));
  std::span<float> logits;  // of the sequence's last token
  auto keep_logits = [&](int64_t, Tensor rows) {
    logits = {rows.row(rows.rows - 1), static_cast<size_t>(rows.cols)};
  };
  ASSIGN_OR_RETURN(const int64_t done, session.append(rest, LogitsFor::last, keep_logits, progress));
  result.timings.prefill_seconds = seconds_since(start);
  result.timings.prefill = profile.since(before);
  if (done < std::ssize(rest)) {
    result.finish_reason = FinishReason::cancelled;
    return result;
  }

  before = profile;
  start = Clock::now();
  const int64_t room = engine.options().context - result.prompt_tokens;
  const int64_t limit = request.max_tokens > 0 ? std::min(request.max_tokens, room) : room;
  result.finish_reason = FinishReason::length;
  while (true) {
    const bool too_early = std::ssize(result.ids) < request.sampling.min_tokens;
    const int64_t position = result.prompt_tokens + std::ssize(result.ids);
    const SampledToken token = sampler.sample(
        logits, position, too_early ? std::span<const int32_t>(stop_ids) : std::span<const int32_t>(),
        sampler_workspace);
    if (token.exhausted) {
      return make_error("the model's logits for position {} are not finite: its weights may be damaged",
                        position);
    }
    sampler.accept(token.id);
    result.ids.push_back(token.id);
    if (token.logprob) {
      TokenLogprobs& logprobs = result.logprobs.emplace_back();
      logprobs.logprob = *token.logprob;
      for (const TokenLogprob& top : token.top) logprobs.top.emplace_back(top.id, top.logprob);
    }
    if (!too_early && contains(stop_ids, token.id)) {
      result.finish_reason = FinishReason::stop;
      break;
    }
    const bool reasoning = writer.reasoning();
    const std::string text = writer.push(token.id);
    if (!on_piece({token.id, text, reasoning})) {
      result.finish_reason = FinishReason::cancelled;
      break;
    }
    if (writer.stopped()) {
      result.finish_reason = FinishReason::stop;
      break;
    }
    if (std::ssize(result.ids) >= limit) break;
    ASSIGN_OR_RETURN(const int64_t ran, session.append({&token.id, 1}, LogitsFor::last, keep_logits,
                                                       [](int64_t, int64_t) { return true; }));
    (void)ran;
  }
  if (const std::string rest_text = writer.finish(); !rest_text.empty()) {
    (void)on_piece({result.ids.back(), rest_text, writer.reasoning()});
  }
  result.timings.decode_seconds = seconds_since(start);
  result.timings.decode = profile.since(before);
  return result;
}

}  // namespace indexshare
