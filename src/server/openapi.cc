// GET /openapi.json: the server's own description of itself, made from the table of routes.
#include <cmath>

#include "base/error.h"
#include "server/call.h"

namespace indexshare::server {
namespace {

struct Words {
  std::string_view type;  // of a field, as errors say it
  const char* schema;
};

// What JSON Schema says for the types of fields. A test looks that none is forgotten.
constexpr Words kSchemas[] = {
    {"a string", R"({"type": ["string", "null"]})"},
    {"a number", R"({"type": ["number", "null"]})"},
    {"a whole number", R"({"type": ["integer", "null"]})"},
    {"true or false", R"({"type": ["boolean", "null"]})"},
    {"an object", R"({"type": ["object", "null"]})"},
    {"an object of token ids and numbers from -100 to 100",
     R"({"type": ["object", "null"], "propertyNames": {"pattern": "^[0-9]{1,6}$"},
         "additionalProperties": {"type": "number", "minimum": -100, "maximum": 100}})"},
    {"nothing", R"({"type": "null"})"},
    {"false", R"({"enum": [false, null]})"},
    {"0", R"({"enum": [0, null]})"},
    {"auto, none, required or a tool",
     R"({"anyOf": [{"enum": ["auto", "none", "required", null]}, {"type": "object"}]})"},
    {"an object or its text", R"({"type": ["object", "string", "null"]})"},
    {"a list of texts", R"({"type": ["array", "null"], "items": {"type": "string"}})"},
    {"max, xhigh, high, medium, low, minimal or none",
     R"({"enum": ["max", "xhigh", "high", "medium", "low", "minimal", "none", null]})"},
    {"a text", R"({"type": ["string", "null"]})"},
    {"a text or a list of blocks",
     R"({"anyOf": [{"type": ["string", "null"]}, {"type": "array", "items": {"type": "object"}}]})"},
    {"a text or a list of items",
     R"({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "object"}}]})"},
    {"a list of texts that are not empty",
     R"({"type": ["array", "null"], "items": {"type": "string", "minLength": 1}})"},
    {"a text or a list of token ids",
     R"({"anyOf": [{"type": ["string", "null"]}, {"type": "array", "items": {"type": "integer", "minimum": 0}}]})"},
    {"a list of token ids", R"({"type": ["array", "null"], "items": {"type": "integer", "minimum": 0}})"},
    {"a text that is not empty, or a list of such texts",
     R"({"anyOf": [{"type": ["string", "null"], "minLength": 1},
                   {"type": "array", "items": {"type": "string", "minLength": 1}}]})"},
    {"a text, a list of texts, a list of token ids, or a list of such lists",
     R"({"anyOf": [{"type": "string", "minLength": 1},
                   {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1},
                   {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1},
                   {"type": "array", "minItems": 1,
                    "items": {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1}}]})"},
    {"a list of objects with a role",
     R"({"type": "array", "minItems": 1, "items": {"type": "object", "required": ["role"],
         "properties": {"role": {"type": "string"}}}})"},
    {"a list of tools", R"({"type": ["array", "null"], "items": {"type": "object"}})"},
};

// As OpenAPI writes it: what stands for all below a folder has a name.
std::string path_of(const Route& route) {
  const bool folder = route.path.size() > 1 && route.path.ends_with('/');
  return fmt::format("{}{}", route.path, folder ? "{file}" : "");
}

// The names in braces.
Json parameters_of(std::string_view path) {
  Json parameters = Json::array();
  for (size_t begin = path.find('{'); begin != std::string_view::npos; begin = path.find('{', begin + 1)) {
    const std::string_view name = path.substr(begin + 1, path.find('}', begin) - begin - 1);
    parameters.push_back(
        {{"name", name}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}});
  }
  return parameters;
}

Json schema_of(const Field& field) {
  Json schema = Json::object();
  for (const Words& words : kSchemas) {
    if (words.type == field.type) schema = Json::parse(words.schema);
  }
  schema["description"] = fmt::format("{}: {}", field.type, field.about);
  if (std::isfinite(field.min)) schema["minimum"] = field.min;
  if (std::isfinite(field.max)) schema["maximum"] = field.max;
  return schema;
}

Json body_of(const Route& route) {
  Json properties = Json::object();
  for (const auto fields : route.fields) {
    for (const Field& field : fields) properties[std::string(field.name)] = schema_of(field);
  }
  const Json schema = {{"type", "object"}, {"properties", std::move(properties)}};
  return {{"required", true}, {"content", {{"application/json", {{"schema", schema}}}}}};
}

bool can_stream(const Route& route) {
  for (const auto fields : route.fields) {
    for (const Field& field : fields) {
      if (field.name == "stream") return true;
    }
  }
  return false;
}

Json operation_of(const Route& route) {
  Json content = {{std::string(route.content_type), Json::object()}};
  if (can_stream(route)) content["text/event-stream"] = Json::object();
  const std::string_view error = route.dialect == Dialect::anthropic ? "AnthropicError" : "Error";
  const Json error_schema = {{"$ref", fmt::format("#/components/schemas/{}", error)}};
  Json operation = {
      {"summary", route.about},
      {"responses",
       {{"200", {{"description", "the answer"}, {"content", std::move(content)}}},
        {"default",
         {{"description", "why there is none"},
          {"content", {{"application/json", {{"schema", error_schema}}}}}}}}},
  };
  if (Json parameters = parameters_of(path_of(route)); !parameters.empty())
    operation["parameters"] = std::move(parameters);
  if (route.open) operation["security"] = Json::array();
  if (route.method == "POST" || route.method == "PUT") operation["requestBody"] = body_of(route);
  return operation;
}

Json components() {
  return Json::parse(R"({
    "schemas": {
      "Error": {"type": "object", "required": ["error"], "properties": {"error": {
        "type": "object", "required": ["message", "type", "param", "code"], "properties": {
          "message": {"type": "string", "description": "a sentence that names what is wrong"},
          "type": {"type": "string"},
          "param": {"type": ["string", "null"], "description": "the field at fault"},
          "code": {"type": ["string", "null"]}}}}},
      "AnthropicError": {"type": "object", "required": ["type", "error"], "properties": {
        "type": {"const": "error"},
        "error": {"type": "object", "required": ["type", "message"], "properties": {
          "type": {"type": "string"}, "message": {"type": "string"}}}}}
    },
    "securitySchemes": {
      "bearer": {"type": "http", "scheme": "bearer"},
      "key": {"type": "apiKey", "in": "header", "name": "x-api-key"}
    }
  })");
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

}  // namespace

Json openapi_document() {
  Json paths = Json::object();
  for (const Route& route : all_routes()) {
    paths[path_of(route)][lower(route.method)] = operation_of(route);
  }
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "indexshare"},
            {"version", INDEXSHARE_VERSION},
            {"description", "Text from a model of the GLM-5 family, by the APIs of others."}}},
          {"security", Json::array({Json::object(), {{"bearer", Json::array()}}, {{"key", Json::array()}}})},
          {"paths", std::move(paths)},
          {"components", components()}};
}

void get_openapi(Call call) {
  call.respond(openapi_document());
}

}  // namespace indexshare::server
