#include "model/json_fields.h"

#include "base/error.h"

namespace indexshare {
namespace {

constexpr size_t kQuotedValue = 60;  // longer values are cut short in errors

std::string quoted(const SortedJson& value) {
  std::string text = value.dump();
  if (text.size() <= kQuotedValue) return text;
  return value.is_structured() ? std::string(json_kind(value)) : text.substr(0, kQuotedValue) + "...";
}

std::optional<int64_t> as_integer(const SortedJson& value, int64_t min, int64_t max) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
    return std::nullopt;
  const auto number = value.get<int64_t>();
  if (number < min || number > max) return std::nullopt;
  return number;
}

std::optional<float> as_number(const SortedJson& value, double min, double max) {
  if (!value.is_number()) return std::nullopt;
  const auto number = value.get<double>();
  if (!(number >= min && number <= max)) return std::nullopt;
  return static_cast<float>(number);
}

}  // namespace

JsonFields::JsonFields(const SortedJson& object, std::string_view source, std::string_view path)
    : object_(object), source_(source), path_(path) {}

const SortedJson* JsonFields::find(const char* name) const {
  const auto it = object_.find(name);
  return it != object_.end() ? &*it : nullptr;
}

const SortedJson* JsonFields::find_not_null(const char* name) const {
  const SortedJson* value = find(name);
  return value != nullptr && !value->is_null() ? value : nullptr;
}

void JsonFields::refuse(const char* name, std::string_view expected) {
  const SortedJson* value = find(name);
  fail(fmt::format("\"{}{}\" is {}, expected {}", path_, name, value != nullptr ? quoted(*value) : "absent",
                   expected));
}

void JsonFields::fail(std::string problem) {
  if (!error_) error_ = make_error("{}: {}", source_, problem);
}

Result<void> JsonFields::check() const {
  if (error_) return *error_;
  return {};
}

int64_t JsonFields::integer(const char* name, int64_t fallback, int64_t min, int64_t max) {
  const SortedJson* value = find(name);
  if (value != nullptr && value->is_null()) refuse(name, fmt::format("an integer from {} to {}", min, max));
  return optional_integer(name, min, max).value_or(fallback);
}

float JsonFields::number(const char* name, float fallback, double min, double max) {
  const SortedJson* value = find(name);
  if (value != nullptr && value->is_null()) refuse(name, fmt::format("a number from {} to {}", min, max));
  return optional_number(name, min, max).value_or(fallback);
}

bool JsonFields::boolean(const char* name, bool fallback) {
  const SortedJson* value = find(name);
  if (value != nullptr && value->is_null()) refuse(name, "true or false");
  return optional_boolean(name).value_or(fallback);
}

std::optional<int64_t> JsonFields::optional_integer(const char* name, int64_t min, int64_t max) {
  const SortedJson* value = find_not_null(name);
  if (value == nullptr) return std::nullopt;
  const std::optional<int64_t> number = as_integer(*value, min, max);
  if (!number) refuse(name, fmt::format("an integer from {} to {}", min, max));
  return number;
}

std::optional<float> JsonFields::optional_number(const char* name, double min, double max) {
  const SortedJson* value = find_not_null(name);
  if (value == nullptr) return std::nullopt;
  const std::optional<float> number = as_number(*value, min, max);
  if (!number) refuse(name, fmt::format("a number from {} to {}", min, max));
  return number;
}

std::optional<bool> JsonFields::optional_boolean(const char* name) {
  const SortedJson* value = find_not_null(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  refuse(name, "true or false");
  return std::nullopt;
}

std::optional<std::string> JsonFields::optional_string(const char* name) {
  const SortedJson* value = find_not_null(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  refuse(name, "a string");
  return std::nullopt;
}

std::optional<std::vector<int32_t>> JsonFields::optional_token_ids(const char* name, int64_t vocab_size) {
  const SortedJson* value = find_not_null(name);
  if (value == nullptr) return std::nullopt;
  std::vector<int32_t> ids;
  const auto add = [&](const SortedJson& element) {
    const std::optional<int64_t> id = as_integer(element, 0, vocab_size - 1);
    if (id) ids.push_back(static_cast<int32_t>(*id));
    return id.has_value();
  };
  if (!value->is_array()) {
    if (add(*value)) return ids;
    refuse(name, fmt::format("a token id below the vocab_size of {} or a list of them", vocab_size));
    return std::nullopt;
  }
  for (const SortedJson& element : *value) {
    if (add(element)) continue;
    fail(fmt::format("\"{}{}\" holds {}, expected token ids below the vocab_size of {}", path_, name,
                     quoted(element), vocab_size));
    return std::nullopt;
  }
  return ids;
}

std::optional<std::vector<bool>> JsonFields::optional_choices(const char* name, int64_t size,
                                                              std::string_view yes, std::string_view no) {
  const SortedJson* value = find_not_null(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array()) {
    refuse(name, fmt::format("a list of \"{}\" and \"{}\"", yes, no));
    return std::nullopt;
  }
  if (std::ssize(*value) != size) {
    fail(fmt::format("\"{}{}\" has {} entries, expected {}, one for each layer", path_, name, value->size(),
                     size));
    return std::nullopt;
  }
  std::vector<bool> choices;
  for (const SortedJson& element : *value) {
    if (element != yes && element != no) {
      fail(fmt::format("\"{}{}\" has {} for layer {}, expected \"{}\" or \"{}\"", path_, name,
                       quoted(element), choices.size(), yes, no));
      return std::nullopt;
    }
    choices.push_back(element == yes);
  }
  return choices;
}

const SortedJson* JsonFields::optional_object(const char* name) {
  const SortedJson* value = find_not_null(name);
  if (value == nullptr || value->is_object()) return value;
  refuse(name, "an object");
  return nullptr;
}

void JsonFields::require(const char* name, const SortedJson& supported) {
  const SortedJson* value = find_not_null(name);
  if (value != nullptr && *value != supported) refuse(name, supported.dump());
}

}  // namespace indexshare
