#include "api/request_value.h"

namespace indexshare::api {
namespace {

constexpr size_t kMaxShownBytes = 64;  // of a string in an error

template <typename T>
Result<std::optional<T>> optional(Result<T> result) {
  if (!result.ok()) return result.error();
  return std::optional<T>(std::move(result).value());
}

}  // namespace

std::optional<RequestValue> RequestValue::find(std::string_view key) const {
  if (!json_->is_object()) return std::nullopt;
  const auto member = json_->find(std::string(key));
  if (member == json_->end() || member->is_null()) return std::nullopt;
  return RequestValue(*member, fmt::format("{}{}{}", path_, path_.empty() ? "" : ".", key));
}

RequestValue RequestValue::item(size_t index) const {
  return RequestValue((*json_)[index], fmt::format("{}[{}]", path_, index));
}

Result<void> RequestValue::expect_object() const {
  if (!json_->is_object()) return unexpected("an object");
  return {};
}

Result<void> RequestValue::expect_array() const {
  if (!json_->is_array()) return unexpected("an array");
  return {};
}

Result<std::string> RequestValue::string() const {
  if (!json_->is_string()) return unexpected("a string");
  return json_->get<std::string>();
}

Result<bool> RequestValue::boolean() const {
  if (!json_->is_boolean()) return unexpected("true or false");
  return json_->get<bool>();
}

Result<int64_t> RequestValue::integer(int64_t min) const {
  const bool fits =
      json_->is_number_unsigned() ? json_->get<uint64_t>() <= INT64_MAX : json_->is_number_integer();
  if (!fits || json_->get<int64_t>() < min) return unexpected(fmt::format("an integer from {} on", min));
  return json_->get<int64_t>();
}

Result<RequestValue> RequestValue::get(std::string_view key, std::string_view expected) const {
  RETURN_IF_ERROR(expect_object());
  std::optional<RequestValue> value = find(key);
  if (!value) {
    return make_error("{}{}{} is missing, expected {}", path_, path_.empty() ? "" : ".", key, expected);
  }
  return *std::move(value);
}

Result<std::string> RequestValue::get_string(std::string_view key) const {
  ASSIGN_OR_RETURN(const RequestValue value, get(key, "a string"));
  return value.string();
}

Result<std::optional<std::string>> RequestValue::find_string(std::string_view key) const {
  const std::optional<RequestValue> value = find(key);
  return value ? optional(value->string()) : std::optional<std::string>();
}

Result<std::optional<bool>> RequestValue::find_boolean(std::string_view key) const {
  const std::optional<RequestValue> value = find(key);
  return value ? optional(value->boolean()) : std::optional<bool>();
}

Result<std::optional<int64_t>> RequestValue::find_integer(std::string_view key, int64_t min) const {
  const std::optional<RequestValue> value = find(key);
  return value ? optional(value->integer(min)) : std::optional<int64_t>();
}

Result<std::optional<RequestValue>> RequestValue::find_object(std::string_view key) const {
  std::optional<RequestValue> value = find(key);
  if (value) RETURN_IF_ERROR(value->expect_object());
  return value;
}

Result<std::optional<RequestValue>> RequestValue::find_array(std::string_view key) const {
  std::optional<RequestValue> value = find(key);
  if (value) RETURN_IF_ERROR(value->expect_array());
  return value;
}

Error RequestValue::unexpected(std::string_view expected) const {
  const bool shown = json_->is_string() && json_->get_ref<const std::string&>().size() <= kMaxShownBytes;
  return make_error("{} is {}, expected {}", path(),
                    shown ? dump_json(*json_) : std::string(json_kind(*json_)), expected);
}

Result<std::string> text_of_part(const RequestValue& part) {
  if (part.json().is_string()) return part.string();
  if (!part.json().is_object()) return part.unexpected("a string or an object");
  ASSIGN_OR_RETURN(const std::string type, part.get_string("type"));
  if (type == "text" || type == "input_text" || type == "output_text") return part.get_string("text");
  if (type == "refusal") return part.get_string("refusal");
  return make_error(ErrorCode::unsupported, "{}.type: {} cannot be read, the model reads text alone",
                    part.path(), dump_json(type));
}

Result<std::string> text_of(const std::optional<RequestValue>& content) {
  if (!content) return std::string();
  if (content->json().is_string()) return content->string();
  if (!content->json().is_array()) return content->unexpected("a string or an array of parts");
  std::string text;
  RETURN_IF_ERROR(content->each([&](const RequestValue& part) -> Result<void> {
    ASSIGN_OR_RETURN(const std::string piece, text_of_part(part));
    text += piece;
    return {};
  }));
  return text;
}

}  // namespace indexshare::api
