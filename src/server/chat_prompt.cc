#include "server/chat_prompt.h"

#include "base/error.h"

namespace indexshare::server {
namespace {

constexpr Field kFields[] = {
    {"tools", "a list of tools", "that the answer may call"},
    {"tool_choice", "auto or none", "whether it may; calls cannot be forced"},
    {"parallel_tool_calls", "true or false", "false: one call at most"},
    {"enable_thinking", "true or false", "whether the model reasons before it answers"},
    {"reasoning_effort", "max, xhigh, high, medium, low, minimal or none", "how much it reasons"},
    {"thinking", "an object",
     "type: enabled or disabled, as enable_thinking; budget_tokens: most that it reasons"},
    {"thinking_budget", "a whole number", "another name of thinking_token_budget", 0, kMaxCount},
    {"chat_template_kwargs", "an object", "handed to the model's chat template"},
    {"response_format", "an object", "type: text, the only form there is"},
};

// Errors of the readers of conversations begin with the path of the field: "messages[3].content is ...".
void refuse(FieldReader& fields, const Error& error) {
  fields.refuse(error.message.substr(0, error.message.find_first_of(" .[:")), error.message);
}

// What is read, but cannot be met.
void refuse_what_is_missing(FieldReader& fields, const api::ChatInput& input) {
  using Kind = api::ToolChoice::Kind;
  if (input.tool_choice.kind == Kind::required || input.tool_choice.kind == Kind::named) {
    fields.refuse("tool_choice",
                  "tool_choice asks for a call, expected auto or none: calls cannot be forced");
  }
  if (const Json* format = fields.find("response_format")) {
    refuse_other_form(fields, "response_format", "response_format", *format);
  }
}

}  // namespace

void refuse_other_form(FieldReader& fields, std::string_view field, std::string_view path,
                       const Json& format) {
  if (format.is_object()) {
    const auto type = format.find("type");
    if (type != format.end() && *type == "text") return;
  }
  fields.refuse(field, fmt::format("{} asks for another form than text, which is the only one", path));
}

std::span<const Field> chat_prompt_fields() {
  return kFields;
}

void read_chat_prompt(FieldReader& fields, const Engine& engine, Result<api::ChatInput> input,
                      ChatPrompt& prompt) {
  if (fields.refusal()) return;
  if (!engine.info().has_chat_template) {
    return fields.refuse("messages", "the model has no chat template: use /v1/completions");
  }
  if (!input.ok()) return refuse(fields, input.error());
  refuse_what_is_missing(fields, *input);
  if (fields.refusal()) return;
  Result<std::string> text = engine.render_chat(dump_json(input->variables));
  if (!text.ok()) return fields.refuse("messages", text.error().message);
  Result<std::vector<int32_t>> ids = engine.encode(*text);
  if (!ids.ok()) return fields.refuse("messages", ids.error().message);
  prompt = {std::move(*text), std::move(*ids), std::move(input->tools), input->parallel_tool_calls,
            input->thinking_budget};
}

void ChatPrompt::move_into(GenerationRequest& request) {
  request.prompt = std::move(ids);
  if (thinking_budget) request.max_reasoning_tokens = thinking_budget;
}

}  // namespace indexshare::server
