#include "api/answer_form.h"

#include <utility>

namespace indexshare::api {
namespace {

using Kind = Constraint::Kind;

/// Collects what is said of the form; it may be said once.
class FormReader {
 public:
  /// A member of `holder`, nothing where it is absent.
  Result<void> read(const RequestValue& holder, std::string_view key, Kind kind) {
    const std::optional<RequestValue> value = holder.find(key);
    if (!value || (kind == Kind::json_object && value->json() == false)) return {};
    return add(*value, kind);
  }

  /// {"type": "json_schema", "json_schema": {"schema": {...}}} and the like.
  Result<void> read_format(const std::optional<RequestValue>& format) {
    if (!format) return {};
    RETURN_IF_ERROR(format->expect_object());
    ASSIGN_OR_RETURN(const RequestValue type, format->get("type", "a string"));
    if (type.json() == "text") return {};
    if (type.json() == "json_object") return set(*format, {.kind = Kind::json_object});
    if (type.json() == "structural_tag") return add(*format, Kind::structural_tag);
    if (type.json() != "json_schema") {
      return type.unexpected("text, json_object, json_schema or structural_tag");
    }
    ASSIGN_OR_RETURN(const std::optional<RequestValue> inner, format->find_object("json_schema"));
    ASSIGN_OR_RETURN(const RequestValue schema, (inner ? *inner : *format).get("schema", "an object"));
    return add(schema, Kind::json_schema);
  }

  std::optional<AnswerForm> take() { return std::move(form_); }

 private:
  Result<void> add(const RequestValue& value, Kind kind) {
    const Json& json = value.json();
    if (kind == Kind::choice) return add_choices(value);
    if (kind == Kind::json_object) {
      if (json != true) return value.unexpected("true or false");
      return set(value, {.kind = kind});
    }
    const bool is_json = kind == Kind::json_schema || kind == Kind::structural_tag;
    if (is_json && json.is_object()) return set(value, {.kind = kind, .text = dump_json(json)});
    if (!json.is_string()) return value.unexpected(is_json ? "an object or its text" : "a string");
    return set(value, {.kind = kind, .text = json.get<std::string>()});
  }

  Result<void> add_choices(const RequestValue& value) {
    Constraint constraint = {.kind = Kind::choice};
    RETURN_IF_ERROR(value.each([&](const RequestValue& item) -> Result<void> {
      ASSIGN_OR_RETURN(std::string text, item.string());
      constraint.choices.push_back(std::move(text));
      return {};
    }));
    return set(value, std::move(constraint));
  }

  Result<void> set(const RequestValue& value, Constraint constraint) {
    if (form_) {
      return make_error("{} is given beside {}, expected one of them", value.path(), form_->field);
    }
    form_ = AnswerForm{std::move(constraint), value.path()};
    return {};
  }

  std::optional<AnswerForm> form_;
};

// The parts of XGrammar's structural tags.
Json const_string(std::string_view text) {
  return {{"type", "const_string"}, {"value", text}};
}

Json any_of(Json elements) {
  return {{"type", "or"}, {"elements", std::move(elements)}};
}

Json schema_format(Json schema) {
  return {{"type", "json_schema"},
          {"max_whitespace_cnt", kMaxJsonWhitespace},
          {"json_schema", std::move(schema)}};
}

Result<Json> format_of(const AnswerForm& form) {
  const std::string& text = form.constraint.text;
  switch (form.constraint.kind) {
    case Kind::regex: return Json{{"type", "regex"}, {"pattern", text}};
    case Kind::grammar: return Json{{"type", "grammar"}, {"grammar", text}};
    case Kind::choice: {
      Json elements = Json::array();
      for (const std::string& choice : form.constraint.choices) elements.push_back(const_string(choice));
      return any_of(std::move(elements));
    }
    case Kind::json_object: return schema_format({{"type", "object"}, {"additionalProperties", true}});
    case Kind::json_schema: {
      ASSIGN_OR_RETURN(Json schema, parse_json(text, form.field));
      return schema_format(std::move(schema));
    }
    case Kind::structural_tag: break;
  }
  ASSIGN_OR_RETURN(Json tag, parse_json(text, form.field));
  if (!tag.is_object() || !tag.contains("format")) {
    return make_error("{} has no \"format\", which a structural tag has", form.field);
  }
  return tag["format"];
}

// <tool_call>name<arg_key>key</arg_key><arg_value>value</arg_value>...</tool_call>: strings are plain text,
// other values JSON, which is how AnswerParser reads them. No space but in values (tools/xgrammar.sh).
Json call_of(const Json& tool) {
  const Json& function = tool["function"];
  const auto parameters = function.find("parameters");
  const bool has_some = parameters != function.end() && parameters->is_object();
  Json schema = has_some ? *parameters : Json{{"type", "object"}, {"additionalProperties", false}};
  return {{"type", "tag"},
          {"begin", "<tool_call>" + function["name"].get<std::string>()},
          {"content", {{"type", "json_schema"}, {"style", "glm_xml"}, {"json_schema", std::move(schema)}}},
          {"end", "</tool_call>"}};
}

// Calls of those tools that may be called.
Json calls_of(const ChatInput& input) {
  const bool is_named = input.tool_choice.kind == ToolChoice::Kind::named;
  Json calls = Json::array();
  for (const Json& tool : input.variables["tools"]) {
    if (!is_named || tool["function"]["name"] == input.tool_choice.name) calls.push_back(call_of(tool));
  }
  Json call = any_of(std::move(calls));
  if (is_named || !input.parallel_tool_calls) return call;
  return {{"type", "plus"}, {"content", std::move(call)}};
}

AnswerForm tagged(Json format, std::string field) {
  Json tag = {{"type", "structural_tag"}, {"format", std::move(format)}};
  return {{.kind = Kind::structural_tag, .text = dump_json(tag)}, std::move(field)};
}

}  // namespace

Result<std::optional<AnswerForm>> read_asked_form(const RequestValue& body) {
  FormReader reader;
  RETURN_IF_ERROR(reader.read_format(body.find("response_format")));
  RETURN_IF_ERROR(reader.read_format(body.find("output_format")));
  for (const char* holder : {"text", "output_config"}) {
    if (const auto object = body.find(holder)) RETURN_IF_ERROR(reader.read_format(object->find("format")));
  }
  ASSIGN_OR_RETURN(const std::optional<RequestValue> outputs, body.find_object("structured_outputs"));
  if (outputs) {
    RETURN_IF_ERROR(reader.read(*outputs, "json", Kind::json_schema));
    RETURN_IF_ERROR(reader.read(*outputs, "json_object", Kind::json_object));
    RETURN_IF_ERROR(reader.read(*outputs, "regex", Kind::regex));
    RETURN_IF_ERROR(reader.read(*outputs, "choice", Kind::choice));
    RETURN_IF_ERROR(reader.read(*outputs, "grammar", Kind::grammar));
    RETURN_IF_ERROR(reader.read(*outputs, "structural_tag", Kind::structural_tag));
  }
  RETURN_IF_ERROR(reader.read(body, "guided_json", Kind::json_schema));
  RETURN_IF_ERROR(reader.read(body, "guided_regex", Kind::regex));
  RETURN_IF_ERROR(reader.read(body, "guided_choice", Kind::choice));
  RETURN_IF_ERROR(reader.read(body, "guided_grammar", Kind::grammar));
  RETURN_IF_ERROR(reader.read(body, "json_schema", Kind::json_schema));
  RETURN_IF_ERROR(reader.read(body, "regex", Kind::regex));
  RETURN_IF_ERROR(reader.read(body, "ebnf", Kind::grammar));
  return reader.take();
}

Result<void> read_answer_form(const RequestValue& body, ChatInput& input) {
  using Choice = ToolChoice::Kind;
  ASSIGN_OR_RETURN(input.form, read_asked_form(body));
  if (input.tool_choice.kind == Choice::required || input.tool_choice.kind == Choice::named) {
    input.form = tagged(calls_of(input), "tool_choice");
  } else if (input.form && !input.tools.empty()) {
    ASSIGN_OR_RETURN(Json asked, format_of(*input.form));
    input.form = tagged(any_of(Json::array({std::move(asked), calls_of(input)})), input.form->field);
  }
  return {};
}

}  // namespace indexshare::api
