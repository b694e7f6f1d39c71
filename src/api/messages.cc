#include "api/messages.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/answer_form.h"
#include "api/conversation.h"
#include "api/request_value.h"
#include "api/thinking.h"
#include "api/tool_choice.h"

namespace indexshare::api {
namespace {

constexpr std::string_view kBillingHeader = "x-anthropic-billing-header:";

Result<void> read_system(const RequestValue& system, const MessagesOptions& options,
                         Conversation& conversation) {
  std::string text;
  if (system.json().is_array()) {
    RETURN_IF_ERROR(system.each([&](const RequestValue& block) -> Result<void> {
      ASSIGN_OR_RETURN(const std::string part, text_of_part(block));
      if (!options.drop_billing_header || !part.starts_with(kBillingHeader)) text += part;
      return {};
    }));
  } else {
    ASSIGN_OR_RETURN(text, text_of(system));
  }
  if (!text.empty()) conversation.add("system", std::move(text));
  return {};
}

// Results of tools are messages of their own; texts that follow each other are one.
Result<void> read_user(const RequestValue& content, Conversation& conversation) {
  std::optional<std::string> text;
  const auto end_text = [&] {
    if (text) conversation.add("user", *std::exchange(text, std::nullopt));
  };
  RETURN_IF_ERROR(content.each([&](const RequestValue& block) -> Result<void> {
    if (const auto type = block.find("type"); type && type->json() == "tool_result") {
      end_text();
      ASSIGN_OR_RETURN(const std::optional<std::string> id, block.find_string("tool_use_id"));
      ASSIGN_OR_RETURN(Json result, tool_result_of(block.find("content")));
      conversation.add_tool_result(std::move(result), id);
    } else {
      ASSIGN_OR_RETURN(const std::string part, text_of_part(block));
      if (!text) text.emplace();
      *text += part;
    }
    return {};
  }));
  end_text();
  return {};
}

Result<void> read_assistant(const RequestValue& content, Conversation& conversation) {
  conversation.begin_assistant();
  return content.each([&](const RequestValue& block) -> Result<void> {
    const std::optional<RequestValue> type = block.find("type");
    if (type && type->json() == "thinking") {
      ASSIGN_OR_RETURN(const std::string text, block.get_string("thinking"));
      conversation.think(text);
    } else if (type && type->json() == "redacted_thinking") {
      // encrypted: nobody but its writer can read it
    } else if (type && type->json() == "tool_use") {
      ASSIGN_OR_RETURN(const std::optional<std::string> id, block.find_string("id"));
      ASSIGN_OR_RETURN(std::string name, block.get_string("name"));
      ASSIGN_OR_RETURN(Json arguments, arguments_of(block.find("input")));
      conversation.call(std::move(name), std::move(arguments), id);
    } else {
      ASSIGN_OR_RETURN(const std::string text, text_of_part(block));
      conversation.say(text);
    }
    return {};
  });
}

Result<void> read_message(const RequestValue& message, Conversation& conversation) {
  ASSIGN_OR_RETURN(const RequestValue role, message.get("role", "a string"));
  const bool assistant = role.json() == "assistant";
  if (!assistant && role.json() != "user" && role.json() != "system") {
    return role.unexpected("user, assistant or system");
  }
  const std::optional<RequestValue> content = message.find("content");
  if (content && content->json().is_array() && !content->json().empty() && role.json() != "system") {
    return assistant ? read_assistant(*content, conversation) : read_user(*content, conversation);
  }
  ASSIGN_OR_RETURN(std::string text, text_of(content));
  conversation.add(role.json().get_ref<const std::string&>(), std::move(text));
  return {};
}

}  // namespace

Result<ChatInput> read_messages(const Json& json, const MessagesOptions& options) {
  const RequestValue body(json);
  ChatInput input;
  RETURN_IF_ERROR(body.expect_object());
  RETURN_IF_ERROR(read_thinking(body, /*on_by_default=*/false, input));
  RETURN_IF_ERROR(read_tools(body, input));
  RETURN_IF_ERROR(read_answer_form(body, input));
  ASSIGN_OR_RETURN(const RequestValue messages, body.get("messages", "an array"));
  if (messages.json().is_array() && messages.json().empty())
    return make_error("messages is empty, expected a message or more");
  Conversation conversation;
  if (const auto system = body.find("system")) RETURN_IF_ERROR(read_system(*system, options, conversation));
  RETURN_IF_ERROR(
      messages.each([&](const RequestValue& message) { return read_message(message, conversation); }));
  if (conversation.ends_with_answer()) {
    input.variables["add_generation_prompt"] = false;
    input.thinking = false;
  }
  input.variables["messages"] = conversation.take();
  return input;
}

}  // namespace indexshare::api
