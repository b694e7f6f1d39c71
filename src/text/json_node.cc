#include "text/json_node.h"

namespace indexshare {

namespace {

std::string_view kind(simdjson::dom::element element) {
  using Type = simdjson::dom::element_type;
  switch (element.type()) {
    case Type::ARRAY: return "an array";
    case Type::OBJECT: return "an object";
    case Type::INT64:
    case Type::UINT64:
    case Type::DOUBLE: return "a number";
    case Type::STRING: return "a string";
    case Type::BOOL: return "a boolean";
    case Type::NULL_VALUE: return "null";
  }
  return "a value";
}

}  // namespace

Error JsonNode::unexpected(std::string_view expected) const {
  return make_error("{} is {}, expected {}", where(), kind(element_), expected);
}

template <typename T>
Result<T> JsonNode::as(std::string_view expected) const {
  T value;
  if (element_.get(value) != simdjson::SUCCESS) return unexpected(expected);
  return value;
}

Result<simdjson::dom::object> JsonNode::object() const {
  return as<simdjson::dom::object>("an object");
}
Result<simdjson::dom::array> JsonNode::array() const {
  return as<simdjson::dom::array>("an array");
}
Result<std::string_view> JsonNode::string() const {
  return as<std::string_view>("a string");
}
Result<bool> JsonNode::boolean() const {
  return as<bool>("true or false");
}
Result<int64_t> JsonNode::integer() const {
  return as<int64_t>("an integer");
}

Result<std::optional<JsonNode>> JsonNode::find(std::string_view key) const {
  ASSIGN_OR_RETURN(const simdjson::dom::object fields, object());
  simdjson::dom::element element;
  if (fields.at_key(key).get(element) != simdjson::SUCCESS || element.is_null())
    return std::optional<JsonNode>();
  const std::string_view dot = path_.empty() ? "" : ".";
  return std::optional(JsonNode(element, source_, fmt::format("{}{}{}", path_, dot, key)));
}

Result<JsonNode> JsonNode::get(std::string_view key) const {
  ASSIGN_OR_RETURN(std::optional<JsonNode> node, find(key));
  if (!node) return make_error("{} lacks the field \"{}\"", where(), key);
  return *std::move(node);
}

Result<std::string_view> JsonNode::string_or(std::string_view key, std::string_view otherwise) const {
  ASSIGN_OR_RETURN(const std::optional<JsonNode> node, find(key));
  return node ? node->string() : otherwise;
}

Result<bool> JsonNode::boolean_or(std::string_view key, bool otherwise) const {
  ASSIGN_OR_RETURN(const std::optional<JsonNode> node, find(key));
  return node ? node->boolean() : otherwise;
}

}  // namespace indexshare
