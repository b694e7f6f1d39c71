#include "server/fields.h"

#include <cmath>

#include "base/error.h"
#include "text/utf8.h"

namespace indexshare::server {
namespace {

constexpr size_t kMaxShownBytes = 60;
constexpr double kMaxExactInteger = 0x1p53;

}  // namespace

std::string shown(const Json& value) {
  if (value.is_structured()) return std::string(json_kind(value));
  std::string text = dump_json(value);
  if (text.size() <= kMaxShownBytes) return text;
  text.resize(kMaxShownBytes);
  std::string whole;
  append_repaired(text, whole);
  return whole + "...";
}

bool is_token_id(const Json& value) {
  return value.is_number_unsigned() && value.get<uint64_t>() <= uint64_t{std::numeric_limits<int32_t>::max()};
}

const Json* FieldReader::find(std::string_view name) const {
  const auto field = object_->find(name);
  return field == object_->end() || field->is_null() ? nullptr : &*field;
}

void FieldReader::refuse(std::string_view field, std::string message) {
  if (!refusal_) refusal_ = {.status = 400, .message = std::move(message), .field = std::string(field)};
}

void FieldReader::refuse(const Field& field) {
  const Json* value = find(field.name);
  std::string expected(field.type);
  if (std::isfinite(field.min) && std::isfinite(field.max)) {
    expected += fmt::format(" from {:.15g} to {:.15g}", field.min, field.max);
  } else if (std::isfinite(field.min)) {
    expected += fmt::format(" of at least {:.15g}", field.min);
  }
  refuse(field.name, value == nullptr
                         ? fmt::format("{} is missing, expected {}", field.name, expected)
                         : fmt::format("{} is {}, expected {}", field.name, shown(*value), expected));
}

std::optional<double> FieldReader::number(const Field& field, bool whole) {
  const Json* value = wanted(field);
  if (value == nullptr) return std::nullopt;
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  const bool fits = number >= field.min && number <= field.max && std::isfinite(number);
  if (fits && (!whole || (number == std::floor(number) && std::abs(number) <= kMaxExactInteger)))
    return number;
  refuse(field);
  return std::nullopt;
}

void FieldReader::read(const Field& field, float& target) {
  if (const auto value = number(field, false)) target = static_cast<float>(*value);
}

void FieldReader::read(const Field& field, int64_t& target) {
  if (const auto value = number(field, true)) target = static_cast<int64_t>(*value);
}

void FieldReader::read(const Field& field, int32_t& target) {
  const auto value = number(field, true);
  if (!value) return;
  if (std::abs(*value) > std::numeric_limits<int32_t>::max()) return refuse(field);
  target = static_cast<int32_t>(*value);
}

void FieldReader::read(const Field& field, uint64_t& target) {
  const Json* value = wanted(field);
  if (value == nullptr) return;
  if (!value->is_number_integer()) return refuse(field);
  target =
      value->is_number_unsigned() ? value->get<uint64_t>() : static_cast<uint64_t>(value->get<int64_t>());
}

void FieldReader::read(const Field& field, bool& target) {
  const Json* value = wanted(field);
  if (value == nullptr) return;
  if (!value->is_boolean()) return refuse(field);
  target = value->get<bool>();
}

void FieldReader::read(const Field& field, std::string& target) {
  const Json* value = wanted(field);
  if (value == nullptr) return;
  if (!value->is_string()) return refuse(field);
  target = value->get<std::string>();
}

void FieldReader::read(const Field& field, std::vector<std::string>& target) {
  const Json* value = wanted(field);
  if (value == nullptr) return;
  std::vector<std::string> texts;
  const auto add = [&](const Json& text) {
    if (!text.is_string() || text.get_ref<const std::string&>().empty()) return refuse(field);
    texts.push_back(text.get<std::string>());
  };
  if (value->is_array()) {
    for (const Json& text : *value) add(text);
  } else {
    add(*value);
  }
  if (!refusal_) target = std::move(texts);
}

}  // namespace indexshare::server
