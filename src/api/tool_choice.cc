#include "api/tool_choice.h"

#include <optional>
#include <string>
#include <utility>

namespace indexshare::api {
namespace {

// "auto", {"type": "auto"}, {"type": "tool", "name"}, {"type": "function", "function": {"name"}}...
Result<ToolChoice> read_choice(const RequestValue& choice) {
  const bool is_object = choice.json().is_object();
  if (!is_object && !choice.json().is_string()) return choice.unexpected("a string or an object");
  const RequestValue* type = &choice;
  std::optional<RequestValue> member;
  if (is_object) {
    ASSIGN_OR_RETURN(member, choice.get("type", "a string"));
    type = &*member;
  }
  if (type->json() == "auto") return ToolChoice{};
  if (type->json() == "none") return ToolChoice{ToolChoice::Kind::none, {}};
  if (type->json() == "required" || type->json() == "any") return ToolChoice{ToolChoice::Kind::required, {}};
  if (is_object && (type->json() == "function" || type->json() == "tool")) {
    ASSIGN_OR_RETURN(const std::optional<RequestValue> function, choice.find_object("function"));
    ASSIGN_OR_RETURN(std::string name, (function ? *function : choice).get_string("name"));
    return ToolChoice{ToolChoice::Kind::named, std::move(name)};
  }
  return type->unexpected("auto, none, required or a named tool");
}

}  // namespace

Result<void> read_tools(const RequestValue& body, ChatInput& input) {
  Json tools = Json::array();
  if (const auto given = body.find("tools")) {
    ASSIGN_OR_RETURN(tools, openai_tools(given->json(), given->path()));
  }
  input.tools = ToolSchemas(tools);
  ASSIGN_OR_RETURN(const std::optional<bool> parallel, body.find_boolean("parallel_tool_calls"));
  input.parallel_tool_calls = parallel.value_or(true);

  if (const auto choice = body.find("tool_choice")) {
    ASSIGN_OR_RETURN(input.tool_choice, read_choice(*choice));
    ASSIGN_OR_RETURN(const std::optional<bool> single, choice->find_boolean("disable_parallel_tool_use"));
    if (single) input.parallel_tool_calls = !*single;
    if (input.tool_choice.kind == ToolChoice::Kind::required && input.tools.empty()) {
      return make_error("tool_choice asks for a call, but there are no tools");
    }
    if (input.tool_choice.kind == ToolChoice::Kind::named && !input.tools.contains(input.tool_choice.name)) {
      return make_error("tool_choice names {}, which is none of the tools",
                        dump_json(input.tool_choice.name));
    }
  }
  if (input.tool_choice.kind == ToolChoice::Kind::none) {
    input.tools = {};
  } else if (!tools.empty()) {
    input.variables["tools"] = std::move(tools);
  }
  return {};
}

}  // namespace indexshare::api
