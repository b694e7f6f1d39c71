// The answers of the engine to one HTTP request.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "indexshare/engine.h"
#include "server/call.h"
#include "server/refusal.h"

namespace indexshare::server {

/// What becomes of the requests, told on the network thread; `index` is that of the request.
struct AnswerListener {
  std::function<void()> on_accepted;                                        // the engine has taken all
  std::function<void(size_t index, const GeneratedPiece& piece)> on_piece;  // may be empty
  std::function<void(size_t index, const GenerationResult& result)> on_result;
  std::function<void()> on_end;                            // after all results
  std::function<void(const Refusal& refusal)> on_refusal;  // instead, perhaps after on_accepted
};

/// Tells it to an `answer` that has these members.
template <typename Answer>
AnswerListener listener_of(const std::shared_ptr<Answer>& answer) {
  return {
      .on_accepted = [answer] { answer->on_accepted(); },
      .on_piece = [answer](size_t index, const GeneratedPiece& piece) { answer->on_piece(index, piece); },
      .on_result = [answer](size_t index,
                            const GenerationResult& result) { answer->on_result(index, result); },
      .on_end = [answer] { answer->on_end(); },
      .on_refusal = [answer](const Refusal& refusal) { answer->on_refusal(refusal); },
  };
}

/// Has the engine answer all of `requests` to a call; cancels them when the client goes.
void answer(const Call& call, std::vector<GenerationRequest> requests, AnswerListener listener);

}  // namespace indexshare::server
