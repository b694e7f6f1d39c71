#include "server/answer_reader.h"

#include <utility>

namespace indexshare::server {

std::vector<AnswerEvent> AnswerReader::push(const GeneratedPiece& piece) {
  if (!piece.reasoning) return wanted(parser_.push(piece.text));
  if (piece.text.empty()) return {};
  return {{AnswerEvent::Kind::reasoning, piece.text}};
}

std::vector<AnswerEvent> AnswerReader::wanted(std::vector<AnswerEvent> events) const {
  if (!parallel_tool_calls_) std::erase_if(events, [](const AnswerEvent& event) { return event.call > 0; });
  return events;
}

}  // namespace indexshare::server
