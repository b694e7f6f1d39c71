// Whether and how hard the model is to think, by all the names that clients have for it.
#pragma once

#include "api/chat_input.h"
#include "api/request_value.h"
#include "indexshare/result.h"

namespace indexshare::api {

/// Sets `thinking`, `thinking_budget` and the template's variables "enable_thinking", "reasoning_effort" and
/// "clear_thinking", from, the later the stronger:
/// - "chat_template_kwargs": an object that may name any variable of the template but messages and tools;
/// - how hard: "output_config" and "reasoning" with "effort", "reasoning_effort". max and xhigh mean max;
///   high, medium and low mean high; minimal and none no thinking;
/// - whether: "enable_thinking", "thinking" as true, false or {"type": enabled, adaptive, auto or disabled},
///   both before any effort;
/// - "clear_thinking", also in "thinking": whether the reasoning of earlier turns is left out;
/// - how long: "thinking_budget", "thinking_token_budget", "budget_tokens" in "thinking".
Result<void> read_thinking(const RequestValue& body, bool on_by_default, ChatInput& input);

}  // namespace indexshare::api
