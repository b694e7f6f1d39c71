// OpenAI's /v1/responses: the conversation in a request.
#pragma once

#include "api/chat_input.h"
#include "base/json.h"
#include "indexshare/result.h"

namespace indexshare::api {

/// As read_chat_completions(). "instructions" come first, as the system's; "input" is a text or an array of
/// messages, reasoning, calls of functions and what these gave. Items that refer to what a server keeps are
/// refused.
Result<ChatInput> read_responses(const Json& body);

}  // namespace indexshare::api
