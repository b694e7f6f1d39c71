#include "api/thinking.h"

#include <optional>
#include <string>

#include "text/reasoning_effort.h"

namespace indexshare::api {
namespace {

constexpr size_t kMaxVariables = 64;  // set by a request

// What the request says, the later reading the stronger.
struct Wishes {
  std::optional<bool> on;
  std::optional<std::string> effort;  // of the template: max or high; "" for no thinking
  std::optional<bool> clear;
};

template <typename T>
void set(std::optional<T>& target, std::optional<T> value) {
  if (value) target = std::move(value);
}

Result<void> read_effort(const std::optional<RequestValue>& effort, Wishes& wishes) {
  if (!effort) return {};
  const Json& word = effort->json();
  if (word.is_string()) wishes.effort = effort_for_template(word.get_ref<const std::string&>());
  if (!word.is_string() || !wishes.effort) {
    return effort->unexpected("one of max, xhigh, high, medium, low, minimal and none");
  }
  return {};
}

Result<void> read_switches(const RequestValue& fields, Wishes& wishes) {
  RETURN_IF_ERROR(read_effort(fields.find("reasoning_effort"), wishes));
  ASSIGN_OR_RETURN(std::optional<bool> on, fields.find_boolean("enable_thinking"));
  ASSIGN_OR_RETURN(std::optional<bool> clear, fields.find_boolean("clear_thinking"));
  set(wishes.on, on);
  set(wishes.clear, clear);
  return {};
}

Result<void> read_thinking_field(const RequestValue& thinking, Wishes& wishes, ChatInput& input) {
  if (thinking.json().is_boolean()) {
    wishes.on = thinking.json().get<bool>();
    return {};
  }
  if (!thinking.json().is_object()) return thinking.unexpected("an object with a \"type\"");
  ASSIGN_OR_RETURN(const RequestValue type, thinking.get("type", "enabled, adaptive or disabled"));
  if (type.json() == "enabled" || type.json() == "adaptive" || type.json() == "auto") {
    wishes.on = true;
  } else if (type.json() == "disabled") {
    wishes.on = false;
  } else {
    return type.unexpected("enabled, adaptive or disabled");
  }
  ASSIGN_OR_RETURN(std::optional<bool> clear, thinking.find_boolean("clear_thinking"));
  set(wishes.clear, clear);
  ASSIGN_OR_RETURN(std::optional<int64_t> budget, thinking.find_integer("budget_tokens", 1));
  set(input.thinking_budget, budget);
  return {};
}

Result<void> read_template_variables(const RequestValue& variables, Wishes& wishes, ChatInput& input) {
  if (variables.json().size() > kMaxVariables) {
    return make_error("{} has {} members, expected no more than {}", variables.path(),
                      variables.json().size(), kMaxVariables);
  }
  for (const auto& [name, value] : variables.json().items()) {
    if (name == "messages" || name == "tools") {
      return make_error("{}.{} is given, expected the request's own", variables.path(), name);
    }
    input.variables[name] = value;
  }
  RETURN_IF_ERROR(read_switches(variables, wishes));
  if (const auto thinking = variables.find("thinking"); thinking && thinking->json().is_boolean()) {
    RETURN_IF_ERROR(read_thinking_field(*thinking, wishes, input));
  }
  return {};
}

}  // namespace

Result<void> read_thinking(const RequestValue& body, bool on_by_default, ChatInput& input) {
  Wishes wishes;
  ASSIGN_OR_RETURN(const std::optional<RequestValue> variables, body.find_object("chat_template_kwargs"));
  if (variables) RETURN_IF_ERROR(read_template_variables(*variables, wishes, input));
  for (const char* holder : {"output_config", "reasoning"}) {
    ASSIGN_OR_RETURN(const std::optional<RequestValue> object, body.find_object(holder));
    if (object) RETURN_IF_ERROR(read_effort(object->find("effort"), wishes));
  }
  RETURN_IF_ERROR(read_switches(body, wishes));
  for (const char* name : {"thinking_budget", "thinking_token_budget"}) {
    ASSIGN_OR_RETURN(std::optional<int64_t> budget, body.find_integer(name, 0));
    set(input.thinking_budget, budget);
  }
  if (const auto thinking = body.find("thinking")) {
    RETURN_IF_ERROR(read_thinking_field(*thinking, wishes, input));
  }

  input.thinking = wishes.on.value_or(wishes.effort ? !wishes.effort->empty() : on_by_default);
  input.variables["enable_thinking"] = input.thinking;
  input.variables.erase("reasoning_effort");
  if (wishes.effort && !wishes.effort->empty()) input.variables["reasoning_effort"] = *wishes.effort;
  if (wishes.clear) input.variables["clear_thinking"] = *wishes.clear;
  return {};
}

}  // namespace indexshare::api
