// One answer on its way: what the engine's thread leaves here, Python takes when it likes. The engine's
// thread never needs the GIL.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "indexshare/engine.h"
#include "waker.h"

namespace indexshare::python {

class Answer {
 public:
  /// Hands the request to the engine. `pieces`: keep those of the text as they come, for take(). `waker` is
  /// woken for each piece and at the end; there may be none.
  static Result<std::unique_ptr<Answer>> submit(const std::shared_ptr<Engine>& engine,
                                                GenerationRequest request, bool pieces,
                                                std::shared_ptr<const Waker> waker);

  /// Leaving it cancels the request.
  ~Answer();
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  /// Waits until there is something to take or the answer has ended: true; or for that long: false.
  bool wait(double seconds) const;

  /// The pieces that came since the last call.
  std::vector<GeneratedPiece> take();

  bool done() const;
  void cancel();

  /// Waits for the end. May be asked again.
  Result<GenerationResult> result() const;

 private:
  struct State {
    mutable std::mutex mutex;
    mutable std::condition_variable changed;
    std::vector<GeneratedPiece> pieces;
    std::optional<Result<GenerationResult>> result;
  };

  Answer(std::weak_ptr<Engine> engine, std::shared_ptr<State> state)
      : engine_(std::move(engine)), state_(std::move(state)) {}

  std::weak_ptr<Engine> engine_;
  std::shared_ptr<State> state_;
  RequestId id_ = 0;
};

}  // namespace indexshare::python
