#include "api/responses.h"

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

Result<void> read_message(const RequestValue& item, Conversation& conversation) {
  ASSIGN_OR_RETURN(const RequestValue role, item.get("role", "a string"));
  ASSIGN_OR_RETURN(std::string text, text_of(item.find("content")));
  if (role.json() == "assistant") {
    conversation.say(text);
  } else if (role.json() == "user") {
    conversation.add("user", std::move(text));
  } else if (role.json() == "system" || role.json() == "developer") {
    conversation.add("system", std::move(text));
  } else {
    return role.unexpected("system, developer, user or assistant");
  }
  return {};
}

// The reasoning itself, or what was written of it instead.
Result<void> read_reasoning(const RequestValue& item, Conversation& conversation) {
  for (const char* key : {"content", "summary"}) {
    ASSIGN_OR_RETURN(const std::optional<RequestValue> parts, item.find_array(key));
    if (!parts || parts->json().empty()) continue;
    std::string text;
    RETURN_IF_ERROR(parts->each([&](const RequestValue& part) -> Result<void> {
      ASSIGN_OR_RETURN(const std::string piece, part.get_string("text"));
      text += piece;
      return {};
    }));
    conversation.think(text);
    return {};
  }
  return {};
}

Result<void> read_item(const RequestValue& item, Conversation& conversation) {
  RETURN_IF_ERROR(item.expect_object());
  const std::optional<RequestValue> type = item.find("type");
  if (!type || type->json() == "message") return read_message(item, conversation);
  if (type->json() == "reasoning") return read_reasoning(item, conversation);
  if (type->json() == "function_call") {
    ASSIGN_OR_RETURN(const std::optional<std::string> id, item.find_string("call_id"));
    ASSIGN_OR_RETURN(std::string name, item.get_string("name"));
    ASSIGN_OR_RETURN(Json arguments, arguments_of(item.find("arguments")));
    conversation.call(std::move(name), std::move(arguments), id);
    return {};
  }
  if (type->json() == "function_call_output") {
    ASSIGN_OR_RETURN(const std::optional<std::string> id, item.find_string("call_id"));
    ASSIGN_OR_RETURN(Json result, tool_result_of(item.find("output")));
    conversation.add_tool_result(std::move(result), id);
    return {};
  }
  return type->unexpected("message, reasoning, function_call or function_call_output");
}

}  // namespace

Result<ChatInput> read_responses(const Json& json) {
  const RequestValue body(json);
  ChatInput input;
  RETURN_IF_ERROR(body.expect_object());
  RETURN_IF_ERROR(read_thinking(body, /*on_by_default=*/true, input));
  RETURN_IF_ERROR(read_tools(body, input));
  RETURN_IF_ERROR(read_answer_form(body, input));
  ASSIGN_OR_RETURN(const RequestValue items, body.get("input", "a string or an array"));
  Conversation conversation;
  ASSIGN_OR_RETURN(const std::optional<std::string> instructions, body.find_string("instructions"));
  if (instructions) conversation.add("system", *instructions);
  if (items.json().is_string()) {
    conversation.add("user", items.json().get<std::string>());
  } else if (!items.json().is_array()) {
    return items.unexpected("a string or an array");
  } else if (items.json().empty()) {
    return make_error("input is empty, expected an item or more");
  } else {
    RETURN_IF_ERROR(items.each([&](const RequestValue& item) { return read_item(item, conversation); }));
  }
  input.variables["messages"] = conversation.take();
  return input;
}

}  // namespace indexshare::api
