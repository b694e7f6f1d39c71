// From a conversation to the ids of a prompt.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/json.h"
#include "indexshare/engine.h"
#include "server/fields.h"

namespace indexshare::server {

/// The fields "messages", "enable_thinking", "reasoning_effort" and "chat_template_kwargs" of OpenAI's
/// routes.
std::span<const Field> chat_prompt_fields();

/// The conversation of `body`, which `fields` reads, through the model's template and tokenizer.
void read_chat_prompt(FieldReader& fields, const Engine& engine, const Json& body,
                      std::vector<int32_t>& prompt);

}  // namespace indexshare::server
