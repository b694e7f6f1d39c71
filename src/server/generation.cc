#include "server/generation.h"

#include <chrono>
#include <utility>

#include "base/error.h"

namespace indexshare::server {
namespace {

// How long each token was waited for.
class TokenClock {
 public:
  using Time = std::chrono::steady_clock::time_point;
  explicit TokenClock(Time begun) : last_(begun) {}

  void tick(Time now, Metrics& metrics) {
    const std::chrono::duration<double> time = now - std::exchange(last_, now);
    if (std::exchange(first_, false)) {
      metrics.observe_first_token(time.count());
    } else {
      metrics.observe_next_token(time.count());
    }
  }

 private:
  Time last_;
  bool first_ = true;
};

// The message in which what was kept ended, where that tells something.
std::string message_of(const GenerationResult& result) {
  const bool tells = result.prefix_end == PrefixEnd::ended || result.prefix_end == PrefixEnd::differs ||
                     result.prefix_end == PrefixEnd::evicted;
  return tells && result.prefix_message >= 0 ? fmt::format(" message={}", result.prefix_message) : "";
}

// Belongs to the network thread: what the engine says is posted there, and nothing of it is read once that
// thread has ended, as the service then ends before the engine.
struct Answers {
  Engine& engine;
  Metrics& metrics;
  std::shared_ptr<HttpExchange> exchange;
  AnswerListener listener;
  std::vector<TokenClock> clocks = {};  // one for each request
  std::vector<RequestId> ids = {};
  size_t left = 0;       // that have not ended
  bool refused = false;  // nothing more is told
  std::string note = {};

  void cancel() {
    for (const RequestId id : ids) engine.cancel(id);
  }

  void refuse(const Refusal& refusal) {
    if (std::exchange(refused, true)) return;
    cancel();
    listener.on_refusal(refusal);
  }

  void take(size_t index, const GeneratedPiece& piece, TokenClock::Time now) {
    clocks[index].tick(now, metrics);
    if (!refused && listener.on_piece) listener.on_piece(index, piece);
  }

  void take(size_t index, const Result<GenerationResult>& result) {
    if (result.ok()) metrics.observe_answer(*result);
    if (refused) return;
    if (!result.ok()) return refuse(refusal_of(result.error()));
    note += fmt::format(
        "{}prompt={} cached={} prefix={}{} generated={} finish={} queue_ms={:.1f} prefill_ms={:.1f} "
        "decode_ms={:.1f}",
        note.empty() ? "" : " ", result->prompt_tokens, result->cached_tokens,
        prefix_end_name(result->prefix_end), message_of(*result), result->ids.size(),
        finish_reason_name(result->finish_reason), 1e3 * result->timings.queue_seconds,
        1e3 * result->timings.prefill_seconds, 1e3 * result->timings.decode_seconds);
    exchange->note(note);
    listener.on_result(index, *result);
    if (--left == 0) listener.on_end();
  }
};

GenerationCallbacks callbacks_of(const std::shared_ptr<Answers>& answers, size_t index) {
  GenerationCallbacks callbacks;
  callbacks.on_piece = [answers, index](const GeneratedPiece& piece) {
    answers->exchange->post([answers, index, piece, now = std::chrono::steady_clock::now()] {
      answers->take(index, piece, now);
    });
    return true;
  };
  callbacks.on_end = [answers, index](Result<GenerationResult> result) {
    answers->exchange->post([answers, index, result = std::move(result)] { answers->take(index, result); });
  };
  return callbacks;
}

void submit_all(const std::shared_ptr<Answers>& answers, std::vector<GenerationRequest>& requests) {
  answers->left = requests.size();
  answers->clocks.assign(requests.size(), TokenClock(answers->exchange->begun()));
  for (size_t i = 0; i < requests.size(); ++i) {
    const Result<RequestId> id = answers->engine.submit(std::move(requests[i]), callbacks_of(answers, i));
    if (!id.ok()) return answers->refuse(refusal_of(id.error()));
    answers->ids.push_back(*id);
  }
  answers->listener.on_accepted();
  answers->exchange->on_gone([answers] {
    answers->refused = true;
    answers->cancel();
  });
}

}  // namespace

void answer(const Call& call, std::vector<GenerationRequest> requests, AnswerListener listener) {
  auto answers = std::make_shared<Answers>(
      Answers{call.engine(), call.service.metrics(), call.exchange, std::move(listener)});
  // The network thread submits, so that nothing of an answer can arrive before all are taken.
  call.exchange->post([answers = std::move(answers), requests = std::move(requests)]() mutable {
    submit_all(answers, requests);
  });
}

}  // namespace indexshare::server
