// What a request for an answer in a conversation comes to, whichever API it came by.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "indexshare/constraint.h"
#include "text/tool_schemas.h"

namespace indexshare::api {

/// Whether the answer may, must not or must call a tool.
struct ToolChoice {
  enum class Kind : uint8_t { automatic, none, required, named };
  Kind kind = Kind::automatic;
  std::string name;  // of the tool, where it is named
};

/// The form that an answer is bound to, and the field of the request that says so.
struct AnswerForm {
  Constraint constraint;
  std::string field;
};

struct ChatInput {
  Json variables = Json::object();  // for the chat template: messages, tools and switches
  ToolSchemas tools;                // that the answer may call, for AnswerParser
  ToolChoice tool_choice;
  bool parallel_tool_calls = true;         // false: one call at most
  bool thinking = true;                    // whether the answer begins with reasoning
  std::optional<int64_t> thinking_budget;  // tokens of reasoning
  std::optional<AnswerForm> form;
};

}  // namespace indexshare::api
