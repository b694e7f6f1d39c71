// Anthropic's /v1/messages: the conversation in a request.
#pragma once

#include "api/chat_input.h"
#include "base/json.h"
#include "indexshare/result.h"

namespace indexshare::api {

struct MessagesOptions {
  /// Leave out blocks of "system" that begin with "x-anthropic-billing-header:". Claude Code writes one with
  /// a number that changes with each request, before all else: nothing kept of the last would serve again.
  bool drop_billing_header = true;
};

/// As read_chat_completions(). Without "thinking" or an effort the model does not think, as that API has it.
/// A last message of the assistant is what the answer begins with.
Result<ChatInput> read_messages(const Json& body, const MessagesOptions& options = {});

}  // namespace indexshare::api
