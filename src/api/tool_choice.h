// The tools of a request and which of them the answer may call.
#pragma once

#include "api/chat_input.h"
#include "api/request_value.h"
#include "indexshare/result.h"

namespace indexshare::api {

/// Reads "tools", "tool_choice" and "parallel_tool_calls" in the forms of all APIs. With the choice "none"
/// the model is not told of the tools, so that it cannot call one.
Result<void> read_tools(const RequestValue& body, ChatInput& input);

}  // namespace indexshare::api
