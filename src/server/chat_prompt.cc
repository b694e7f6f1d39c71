#include "server/chat_prompt.h"

#include "base/error.h"

namespace indexshare::server {
namespace {

enum Place : size_t { messages, enable_thinking, reasoning_effort, thinking, chat_template_kwargs, tools };

constexpr Field kFields[] = {
    {"messages", "a list of objects with a role", "the conversation"},
    {"enable_thinking", "true or false", "whether the model reasons before it answers"},
    {"reasoning_effort", "max, xhigh, high, medium, low, minimal or none", "how much it reasons"},
    {"thinking", "an object", "type: enabled or disabled, as enable_thinking"},
    {"chat_template_kwargs", "an object", "handed to the model's chat template"},
    {"tools", "an empty list", "not supported yet"},
};

// The content of a message as one text; nothing where it has parts that are no text.
std::optional<std::string> text_of(const Json& content) {
  if (content.is_null()) return "";
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) return std::nullopt;
  std::string text;
  for (const Json& part : content) {
    const auto type = part.is_object() ? part.find("type") : part.end();
    const auto own = part.is_object() ? part.find("text") : part.end();
    if (!part.is_object() || type == part.end() || *type != "text" || own == part.end() ||
        !own->is_string()) {
      return std::nullopt;
    }
    text += own->get<std::string>();
  }
  return text;
}

Json read_messages(FieldReader& fields) {
  const Field& field = kFields[messages];
  const Json* list = fields.find(field.name);
  if (list == nullptr || !list->is_array() || list->empty()) {
    fields.refuse(field);
    return {};
  }
  Json read = Json::array();
  for (size_t i = 0; i < list->size(); ++i) {
    Json message = (*list)[i];
    if (!message.is_object() || !message.contains("role") || !message["role"].is_string()) {
      fields.refuse(field.name, fmt::format("messages[{}] is no object with a role", i));
      return {};
    }
    const auto text = text_of(message.contains("content") ? message["content"] : Json());
    if (!text) {
      fields.refuse(field.name, fmt::format("messages[{}].content is neither a text nor a list of texts", i));
      return {};
    }
    message["content"] = *text;
    if (message.contains("reasoning") && !message.contains("reasoning_content")) {
      message["reasoning_content"] = message["reasoning"];
    }
    read.push_back(std::move(message));
  }
  return read;
}

void read_thinking(FieldReader& fields, Json& variables) {
  std::optional<bool> on;
  if (const Json* object = fields.find(kFields[thinking].name)) {
    const auto type = object->is_object() ? object->find("type") : object->end();
    if (!object->is_object() || type == object->end() || (*type != "enabled" && *type != "disabled")) {
      return fields.refuse("thinking", "thinking.type is not as expected, enabled or disabled");
    }
    on = *type == "enabled";
  }
  fields.read(kFields[enable_thinking], on);
  std::optional<std::string> effort;
  fields.read(kFields[reasoning_effort], effort);
  if (effort == "max" || effort == "xhigh") {
    variables["reasoning_effort"] = "max";
  } else if (effort == "high" || effort == "medium" || effort == "low") {
    variables["reasoning_effort"] = "high";
  } else if (effort == "minimal" || effort == "none") {
    on = false;
  } else if (effort) {
    return fields.refuse(kFields[reasoning_effort]);
  }
  if (on) variables["enable_thinking"] = *on;
}

}  // namespace

std::span<const Field> chat_prompt_fields() {
  return kFields;
}

void read_chat_prompt(FieldReader& fields, const Engine& engine, const Json& body,
                      std::vector<int32_t>& prompt) {
  Json variables = Json::object();
  if (const Json* given = fields.find(kFields[chat_template_kwargs].name)) {
    if (!given->is_object()) return fields.refuse(kFields[chat_template_kwargs]);
    variables = *given;
  }
  if (const auto given = body.find("tools");
      given != body.end() && !given->is_null() && !(given->is_array() && given->empty())) {
    return fields.refuse("tools", "tools are not supported");
  }
  read_thinking(fields, variables);
  variables["messages"] = read_messages(fields);
  if (fields.refusal()) return;
  if (!engine.info().has_chat_template) {
    return fields.refuse("messages", "the model has no chat template: use /v1/completions");
  }
  const Result<std::string> text = engine.render_chat(dump_json(variables));
  if (!text.ok()) return fields.refuse("messages", text.error().message);
  Result<std::vector<int32_t>> ids = engine.encode(*text);
  if (!ids.ok()) return fields.refuse("messages", ids.error().message);
  prompt = std::move(*ids);
}

}  // namespace indexshare::server
