#include "api/conversation.h"

#include <utility>

namespace indexshare::api {
namespace {

bool is_reference(const Json& part) {
  return part.is_object() && part.contains("type") && part["type"] == "tool_reference";
}

}  // namespace

void Conversation::add(std::string_view role, std::string text) {
  messages_.push_back({{"role", role}, {"content", std::move(text)}});
}

void Conversation::add_tool_result(Json content, const std::optional<std::string>& call_id) {
  Json message = {{"role", "tool"}, {"content", std::move(content)}};
  if (call_id) message["tool_call_id"] = *call_id;
  messages_.push_back(std::move(message));
}

void Conversation::begin_assistant() {
  messages_.push_back({{"role", "assistant"}, {"content", ""}});
}

void Conversation::think(const std::string& text) {
  if (has("tool_calls") || has("content")) begin_assistant();
  Json& message = assistant();
  if (!message.contains("reasoning_content")) message["reasoning_content"] = "";
  message["reasoning_content"].get_ref<std::string&>() += text;
}

void Conversation::say(const std::string& text) {
  if (has("tool_calls")) begin_assistant();
  assistant()["content"].get_ref<std::string&>() += text;
}

void Conversation::call(std::string name, Json arguments, const std::optional<std::string>& id) {
  Json call = Json::object();
  if (id) call["id"] = *id;
  call["type"] = "function";
  call["function"] = {{"name", std::move(name)}, {"arguments", std::move(arguments)}};
  assistant()["tool_calls"].push_back(std::move(call));
}

bool Conversation::ends_with_answer() const {
  return !messages_.empty() && messages_.back()["role"] == "assistant" && !has("tool_calls");
}

bool Conversation::has(const char* key) const {
  if (messages_.empty() || messages_.back()["role"] != "assistant") return false;
  const auto member = messages_.back().find(key);
  if (member == messages_.back().end()) return false;
  return !member->is_string() || !member->get_ref<const std::string&>().empty();
}

Json& Conversation::assistant() {
  if (messages_.empty() || messages_.back()["role"] != "assistant") begin_assistant();
  return messages_.back();
}

Result<Json> arguments_of(const std::optional<RequestValue>& arguments) {
  if (!arguments) return Json::object();
  if (arguments->json().is_object()) return arguments->json();
  if (!arguments->json().is_string())
    return arguments->unexpected("an object, or a string of JSON that holds one");
  const std::string& text = arguments->json().get_ref<const std::string&>();
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return Json::object();
  ASSIGN_OR_RETURN(Json parsed, parse_json(text, arguments->path()));
  if (!parsed.is_object()) {
    return make_error("{} holds {}, expected an object", arguments->path(), json_kind(parsed));
  }
  return parsed;
}

Result<Json> tool_result_of(const std::optional<RequestValue>& content) {
  const bool references = content && content->json().is_array() && !content->json().empty() &&
                          is_reference(content->json().front());
  if (!references) {
    ASSIGN_OR_RETURN(std::string text, text_of(content));
    return Json(std::move(text));
  }
  Json result = Json::array();
  RETURN_IF_ERROR(content->each([&](const RequestValue& part) -> Result<void> {
    if (!is_reference(part.json())) return part.unexpected("a tool_reference like the first part");
    // Anthropic writes "tool_name", templates read "name".
    ASSIGN_OR_RETURN(std::string name, part.get_string(part.find("tool_name") ? "tool_name" : "name"));
    result.push_back({{"type", "tool_reference"}, {"name", std::move(name)}});
    return {};
  }));
  return result;
}

}  // namespace indexshare::api
