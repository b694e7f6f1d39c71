// The pieces of an answer to a conversation as events, for the writer of whichever form it is to have.
#pragma once

#include <vector>

#include "indexshare/generation.h"
#include "server/chat_prompt.h"
#include "text/answer_parser.h"

namespace indexshare::server {

class AnswerReader {
 public:
  explicit AnswerReader(const ChatPrompt& prompt)
      : parser_(prompt.tools, ReasoningText::none), parallel_tool_calls_(prompt.parallel_tool_calls) {}

  /// The events that `piece` makes certain; none of a second call, where one is to be made at most.
  std::vector<AnswerEvent> push(const GeneratedPiece& piece);

  /// Nothing more comes: what was held back.
  std::vector<AnswerEvent> finish() { return wanted(parser_.finish()); }

 private:
  std::vector<AnswerEvent> wanted(std::vector<AnswerEvent> events) const;

  AnswerParser parser_;  // of what follows the reasoning, which the engine tells apart
  bool parallel_tool_calls_;
};

}  // namespace indexshare::server
