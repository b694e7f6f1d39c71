#include "answer.h"

#include <chrono>
#include <utility>

namespace indexshare::python {
Result<std::unique_ptr<Answer>> Answer::submit(const std::shared_ptr<Engine>& engine,
                                               GenerationRequest request, bool pieces,
                                               std::shared_ptr<const Waker> waker) {
  auto state = std::make_shared<State>();
  GenerationCallbacks callbacks;
  if (pieces) {
    callbacks.on_piece = [state, waker](const GeneratedPiece& piece) {
      {
        const std::lock_guard lock(state->mutex);
        state->pieces.push_back(piece);
      }
      state->changed.notify_all();
      if (waker) waker->wake();
      return true;
    };
  }
  callbacks.on_end = [state, waker](Result<GenerationResult> result) {
    {
      const std::lock_guard lock(state->mutex);
      state->result.emplace(std::move(result));
    }
    state->changed.notify_all();
    if (waker) waker->wake();
  };
  auto answer = std::unique_ptr<Answer>(new Answer(engine, state));
  const Result<RequestId> id = engine->submit(std::move(request), std::move(callbacks));
  if (!id.ok()) return id.error();
  answer->id_ = *id;
  return answer;
}

Answer::~Answer() {
  cancel();
}

bool Answer::wait(double seconds) const {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, std::chrono::duration<double>(seconds),
                                  [this] { return !state_->pieces.empty() || state_->result; });
}

std::vector<GeneratedPiece> Answer::take() {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->pieces, {});
}

bool Answer::done() const {
  const std::lock_guard lock(state_->mutex);
  return state_->result.has_value();
}

void Answer::cancel() {
  if (id_ == 0 || done()) return;
  if (const auto engine = engine_.lock()) engine->cancel(id_);
}

Result<GenerationResult> Answer::result() const {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [this] { return state_->result.has_value(); });
  return *state_->result;
}

}  // namespace indexshare::python
