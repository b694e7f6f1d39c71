#include "text/tool_schemas.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace indexshare {
namespace {

const Json* find(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto member = object.find(key);
  return member == object.end() || member->is_null() ? nullptr : &*member;
}

JsonTypes type_named(const Json& name) {
  if (name == "null") return kNullType;
  if (name == "boolean") return kBooleanType;
  if (name == "integer") return kIntegerType;
  if (name == "number") return kNumberType | kIntegerType;
  if (name == "string") return kStringType;
  if (name == "array") return kArrayType;
  if (name == "object") return kObjectType;
  return kAnyType;
}

constexpr size_t kMaxSteps = 1'000'000;
constexpr int kMaxDepth = 64;

/// Reads the types off the schemas of one tool. They may refer to themselves, and in many ways to each other:
/// no more than `steps` is read of them, which the tools of a request share.
class SchemaReader {
 public:
  SchemaReader(const Json& root, size_t& steps) : root_(root), steps_(steps) {}

  JsonTypes types(const Json& schema, int depth = 0) {
    if (!schema.is_object() || depth == kMaxDepth || !spend(1 + schema.size())) return kAnyType;
    JsonTypes types = 0;
    if (const Json* reference = find(schema, "$ref")) {
      const Json* target = resolve(*reference);
      types = target != nullptr ? this->types(*target, depth + 1) : kAnyType;
    } else if (const Json* type = find(schema, "type")) {
      types = union_of(*type, type_named);
    } else if (const Json* values = find(schema, "enum")) {
      types = union_of(*values, type_of);
    } else if (schema.contains("const")) {
      types = type_of(schema["const"]);
    } else if (schema.contains("properties")) {
      types = kObjectType;
    } else if (schema.contains("items")) {
      types = kArrayType;
    } else {
      for (const char* branches : {"anyOf", "oneOf", "allOf"}) {
        if (const Json* list = find(schema, branches)) {
          types |= union_of(*list, [&](const Json& branch) { return this->types(branch, depth + 1); });
        }
      }
    }
    if (types == 0) return kAnyType;
    if (const Json* nullable = find(schema, "nullable"); nullable != nullptr && *nullable == true) {
      types |= kNullType;
    }
    return types;
  }

 private:
  template <typename F>
  JsonTypes union_of(const Json& values, F type) {
    if (!values.is_array()) return type(values);
    JsonTypes types = 0;
    for (const Json& value : values) {
      if (!spend(1)) return kAnyType;
      types |= type(value);
    }
    return types;
  }

  // What "#/$defs/Name" points to.
  const Json* resolve(const Json& reference) {
    if (!reference.is_string()) return nullptr;
    std::string_view path = reference.get_ref<const std::string&>();
    if (!path.starts_with('#')) return nullptr;
    path.remove_prefix(1);
    const Json* at = &root_;
    while (!path.empty()) {
      if (path.front() != '/' || !at->is_object() || !spend(1 + at->size())) return nullptr;
      path.remove_prefix(1);
      const std::string key(path.substr(0, path.find('/')));
      path.remove_prefix(key.size());
      if ((at = find(*at, key.c_str())) == nullptr) return nullptr;
    }
    return at;
  }

  bool spend(size_t steps) {
    if (steps > steps_) return false;
    steps_ -= steps;
    return true;
  }

  const Json& root_;
  size_t& steps_;
};

Error not_a(std::string_view where, const Json& value, std::string_view expected) {
  return make_error("{} is {}, expected {}", where, json_kind(value), expected);
}

bool is_tool_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxToolNameBytes &&
         std::all_of(name.begin(), name.end(), is_tool_name_byte);
}

// The function that one tool of a request describes, as in "function" of OpenAI's form.
Result<Json> function_of(const Json& tool, const std::string& where) {
  if (!tool.is_object()) return not_a(where, tool, "an object");
  if (const Json* function = find(tool, "function")) {
    if (!function->is_object()) return not_a(where + ".function", *function, "an object");
    return *function;
  }
  const Json* type = find(tool, "type");
  if (type != nullptr && *type != "function" && *type != "custom") {
    return make_error(ErrorCode::unsupported, "{}.type: {} is not a tool that is described by its schema",
                      where, dump_json(*type));
  }
  const Json* schema = find(tool, "input_schema");
  if (type != nullptr && *type == "custom" && schema == nullptr) {
    return make_error(ErrorCode::unsupported, "{} is a \"custom\" tool without an \"input_schema\"", where);
  }
  // Anthropic's form, or the flat one. Only what describes the tool goes on: a marker of what to cache, say,
  // would change the prompt.
  Json function = Json::object();
  for (const char* key : {"name", "description", "parameters", "strict", "defer_loading"}) {
    if (const Json* value = find(tool, key)) function[key] = *value;
  }
  if (schema != nullptr) function["parameters"] = *schema;
  return function;
}

}  // namespace

JsonTypes type_of(const Json& value) {
  using Type = nlohmann::json::value_t;
  switch (static_cast<Type>(value.type())) {
    case Type::null: return kNullType;
    case Type::boolean: return kBooleanType;
    case Type::number_integer:
    case Type::number_unsigned: return kIntegerType;
    case Type::number_float: return kNumberType;
    case Type::string: return kStringType;
    case Type::array: return kArrayType;
    case Type::object: return kObjectType;
    default: return kAnyType;
  }
}

bool is_tool_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == '.' || c == ':' || c == '/' || static_cast<unsigned char>(c) >= 0x80;
}

Result<Json> openai_tools(const Json& tools, std::string_view where) {
  if (!tools.is_array()) return not_a(where, tools, "an array");
  Json result = Json::array();
  std::map<std::string, size_t, std::less<>> places;
  for (size_t i = 0; i < tools.size(); ++i) {
    const std::string place = fmt::format("{}[{}]", where, i);
    ASSIGN_OR_RETURN(Json function, function_of(tools[i], place));
    const Json* name = find(function, "name");
    if (name == nullptr) return make_error("{} lacks the field \"name\"", place);
    if (!name->is_string()) return not_a(place + ".name", *name, "a string");
    if (!is_tool_name(name->get_ref<const std::string&>())) {
      return make_error("{}.name: {} must be 1 to {} letters, digits or any of \"_-.:/\"", place,
                        dump_json(*name), kMaxToolNameBytes);
    }
    const auto [other, is_new] = places.try_emplace(name->get<std::string>(), i);
    if (!is_new) {
      return make_error("{}.name: {} is also the name of {}[{}]", place, dump_json(*name), where,
                        other->second);
    }
    if (const Json* description = find(function, "description");
        description != nullptr && !description->is_string()) {
      return not_a(place + ".description", *description, "a string");
    }
    if (const Json* parameters = find(function, "parameters");
        parameters != nullptr && !parameters->is_object()) {
      return not_a(place + ".parameters", *parameters, "an object");
    }
    result.push_back({{"type", "function"}, {"function", std::move(function)}});
  }
  return result;
}

ToolSchemas::ToolSchemas(const Json& tools) {
  size_t steps = kMaxSteps;
  for (const Json& tool : tools) {
    const Json& function = tool["function"];
    Arguments& arguments = tools_[function["name"].get<std::string>()];
    const Json* parameters = find(function, "parameters");
    if (parameters == nullptr) continue;
    SchemaReader reader(*parameters, steps);
    if (const Json* properties = find(*parameters, "properties"); properties && properties->is_object()) {
      for (const auto& [key, schema] : properties->items()) arguments.types[key] = reader.types(schema);
    }
    if (const Json* others = find(*parameters, "additionalProperties")) {
      arguments.others = reader.types(*others);
    }
  }
}

JsonTypes ToolSchemas::types(std::string_view tool, std::string_view argument) const {
  const auto arguments = tools_.find(tool);
  if (arguments == tools_.end()) return kAnyType;
  const auto types = arguments->second.types.find(argument);
  return types == arguments->second.types.end() ? arguments->second.others : types->second;
}

}  // namespace indexshare
