// The answers of the engine to one HTTP request.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "indexshare/engine.h"
#include "server/http.h"
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

/// Has the engine answer all of `requests`; cancels them when the client goes. `engine` must outlive the
/// answers, and they the server.
void answer(Engine& engine, const std::shared_ptr<HttpExchange>& exchange,
            std::vector<GenerationRequest> requests, AnswerListener listener);

}  // namespace indexshare::server
