// A value of a parsed JSON document that knows its place, for errors that name it.
#pragma once

#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "indexshare/result.h"

namespace indexshare {

/// Cheap to copy but for its path; lives no longer than the parser's document.
class JsonNode {
 public:
  /// The document itself. `source` names it ("tokenizer.json").
  JsonNode(simdjson::dom::element element, std::string_view source) : element_(element), source_(source) {}

  /// What errors begin with: "tokenizer.json: model.vocab".
  std::string where() const {
    return path_.empty() ? std::string(source_) : fmt::format("{}: {}", source_, path_);
  }
  std::string_view source() const { return source_; }
  simdjson::dom::element element() const { return element_; }
  bool is_null() const { return element_.is_null(); }

  /// A field of this object, if it has it and it is not null. An error if this is no object.
  Result<std::optional<JsonNode>> find(std::string_view key) const;
  Result<JsonNode> get(std::string_view key) const;

  Result<simdjson::dom::object> object() const;
  Result<simdjson::dom::array> array() const;
  Result<std::string_view> string() const;
  Result<bool> boolean() const;
  Result<int64_t> integer() const;

  /// The field `key` as a string or boolean; the default if it is absent or null.
  Result<std::string_view> string_or(std::string_view key, std::string_view otherwise) const;
  Result<bool> boolean_or(std::string_view key, bool otherwise) const;

  JsonNode item(size_t index, simdjson::dom::element element) const {
    return JsonNode(element, source_, fmt::format("{}[{}]", path_, index));
  }

 private:
  JsonNode(simdjson::dom::element element, std::string_view source, std::string path)
      : element_(element), source_(source), path_(std::move(path)) {}

  Error unexpected(std::string_view expected) const;
  template <typename T>
  Result<T> as(std::string_view expected) const;

  simdjson::dom::element element_;
  std::string_view source_;
  std::string path_;
};

}  // namespace indexshare
