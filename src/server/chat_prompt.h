// From a conversation to the ids of a prompt.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/json.h"
#include "indexshare/engine.h"
#include "server/fields.h"
#include "text/tool_schemas.h"

namespace indexshare::server {

/// The fields of /v1/chat/completions that say what the conversation is, and how it is to go on.
std::span<const Field> chat_prompt_fields();

/// A conversation ready to be answered.
struct ChatPrompt {
  std::vector<int32_t> ids;  // through the model's template and tokenizer
  ToolSchemas tools;         // that the answer may call
  bool parallel_tool_calls = true;
};

/// Of `body`, which `fields` reads.
void read_chat_prompt(FieldReader& fields, const Engine& engine, const Json& body, ChatPrompt& prompt);

}  // namespace indexshare::server
