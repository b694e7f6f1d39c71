#include "server/chat_prompt.h"

#include "base/error.h"
#include "server/form_fields.h"

namespace indexshare::server {
namespace {

constexpr Field kFields[] = {
    {"tools", "a list of tools", "that the answer may call"},
    {"tool_choice", "auto, none, required or a tool", "whether it may, or must"},
    {"parallel_tool_calls", "true or false", "false: one call at most"},
    {"enable_thinking", "true or false", "whether the model reasons before it answers"},
    {"reasoning_effort", "max, xhigh, high, medium, low, minimal or none", "how much it reasons"},
    {"thinking", "an object",
     "type: enabled or disabled, as enable_thinking; budget_tokens: most that it reasons"},
    {"thinking_budget", "a whole number", "another name of thinking_token_budget", 0, kMaxCount},
    {"chat_template_kwargs", "an object", "handed to the model's chat template"},
};

}  // namespace

std::span<const Field> chat_prompt_fields() {
  return kFields;
}

void read_chat_prompt(FieldReader& fields, const Engine& engine, Result<api::ChatInput> input,
                      ChatPrompt& prompt) {
  if (fields.refusal()) return;
  if (!engine.info().has_chat_template) {
    return fields.refuse("messages", "the model has no chat template: use /v1/completions");
  }
  if (!input.ok()) return refuse_by_path(fields, input.error());
  std::shared_ptr<const Grammar> grammar;
  if (input->form) grammar = compile_form(fields, engine, *input->form);
  if (fields.refusal()) return;
  Result<std::string> text = engine.render_chat(dump_json(input->variables));
  if (!text.ok()) return fields.refuse("messages", text.error().message);
  Result<std::vector<int32_t>> ids = engine.encode(*text);
  if (!ids.ok()) return fields.refuse("messages", ids.error().message);
  prompt = {std::move(*text),           std::move(*ids),        std::move(input->tools),
            input->parallel_tool_calls, input->thinking_budget, std::move(grammar)};
}

void ChatPrompt::move_into(GenerationRequest& request) {
  request.prompt = std::move(ids);
  if (thinking_budget) request.max_reasoning_tokens = thinking_budget;
  request.grammar = std::move(grammar);
}

}  // namespace indexshare::server
