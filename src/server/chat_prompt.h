// From a conversation to the ids of a prompt.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/chat_input.h"
#include "indexshare/engine.h"
#include "server/fields.h"
#include "text/tool_schemas.h"

namespace indexshare::server {

/// The fields, beside the conversation itself, that say how it is to go on.
std::span<const Field> chat_prompt_fields();

/// A conversation ready to be answered.
struct ChatPrompt {
  std::string text;          // by the model's template
  std::vector<int32_t> ids;  // of the text
  ToolSchemas tools;         // that the answer may call
  bool parallel_tool_calls = true;
  std::optional<int64_t> thinking_budget;  // tokens of reasoning
  std::shared_ptr<const Grammar> grammar;  // that the answer is bound to, or null

  /// What of it the engine is to know.
  void move_into(GenerationRequest& request);
};

/// Of what the reader of an API has made of the request that `fields` reads.
void read_chat_prompt(FieldReader& fields, const Engine& engine, Result<api::ChatInput> input,
                      ChatPrompt& prompt);

}  // namespace indexshare::server
