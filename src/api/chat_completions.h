// OpenAI's /v1/chat/completions: the conversation in a request.
#pragma once

#include "api/chat_input.h"
#include "base/json.h"
#include "indexshare/result.h"

namespace indexshare::api {

/// Fields that are not about the conversation are left alone, unknown ones too. Messages may come in any
/// order; "reasoning_content" and "reasoning" are both read. Errors begin with the path of the field:
/// "messages[3].content[0].type".
Result<ChatInput> read_chat_completions(const Json& body);

}  // namespace indexshare::api
