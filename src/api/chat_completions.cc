#include "api/chat_completions.h"

#include <optional>
#include <string>
#include <utility>

#include "api/answer_form.h"
#include "api/conversation.h"
#include "api/request_value.h"
#include "api/thinking.h"
#include "api/tool_choice.h"

namespace indexshare::api {
namespace {

Result<void> read_call(const RequestValue& call, Conversation& conversation) {
  RETURN_IF_ERROR(call.expect_object());
  ASSIGN_OR_RETURN(const std::optional<std::string> id, call.find_string("id"));
  ASSIGN_OR_RETURN(const std::optional<RequestValue> function, call.find_object("function"));
  const RequestValue& holder = function ? *function : call;
  ASSIGN_OR_RETURN(std::string name, holder.get_string("name"));
  ASSIGN_OR_RETURN(Json arguments, arguments_of(holder.find("arguments")));
  conversation.call(std::move(name), std::move(arguments), id);
  return {};
}

Result<void> read_assistant(const RequestValue& message, Conversation& conversation) {
  conversation.begin_assistant();
  ASSIGN_OR_RETURN(std::optional<std::string> reasoning, message.find_string("reasoning_content"));
  if (!reasoning) {
    ASSIGN_OR_RETURN(reasoning, message.find_string("reasoning"));
  }
  if (reasoning) conversation.think(*reasoning);
  ASSIGN_OR_RETURN(const std::string text, text_of(message.find("content")));
  conversation.say(text);
  ASSIGN_OR_RETURN(const std::optional<RequestValue> calls, message.find_array("tool_calls"));
  if (!calls) return {};
  return calls->each([&](const RequestValue& call) { return read_call(call, conversation); });
}

Result<void> read_message(const RequestValue& message, Conversation& conversation) {
  ASSIGN_OR_RETURN(const RequestValue role, message.get("role", "a string"));
  if (role.json() == "assistant") return read_assistant(message, conversation);
  if (role.json() == "tool") {
    ASSIGN_OR_RETURN(const std::optional<std::string> id, message.find_string("tool_call_id"));
    ASSIGN_OR_RETURN(Json result, tool_result_of(message.find("content")));
    conversation.add_tool_result(std::move(result), id);
    return {};
  }
  if (role.json() != "system" && role.json() != "developer" && role.json() != "user") {
    return role.unexpected("system, developer, user, assistant or tool");
  }
  ASSIGN_OR_RETURN(std::string text, text_of(message.find("content")));
  conversation.add(role.json() == "user" ? "user" : "system", std::move(text));
  return {};
}

}  // namespace

Result<ChatInput> read_chat_completions(const Json& json) {
  const RequestValue body(json);
  ChatInput input;
  RETURN_IF_ERROR(body.expect_object());
  RETURN_IF_ERROR(read_thinking(body, /*on_by_default=*/true, input));
  RETURN_IF_ERROR(read_tools(body, input));
  RETURN_IF_ERROR(read_answer_form(body, input));
  ASSIGN_OR_RETURN(const RequestValue messages, body.get("messages", "an array"));
  Conversation conversation;
  RETURN_IF_ERROR(
      messages.each([&](const RequestValue& message) { return read_message(message, conversation); }));
  if (conversation.empty()) return make_error("messages is empty, expected a message or more");
  input.variables["messages"] = conversation.take();
  return input;
}

}  // namespace indexshare::api
