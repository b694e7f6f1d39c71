// A value in the body of a request that knows its place, for errors that begin with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "indexshare/result.h"

namespace indexshare::api {

/// Lives no longer than the body. Null counts as absent.
class RequestValue {
 public:
  explicit RequestValue(const Json& body) : json_(&body) {}

  const Json& json() const { return *json_; }
  /// "messages[3].content"; "body" for all of it.
  std::string path() const { return path_.empty() ? "body" : path_; }

  /// A member; nothing where this is no object.
  std::optional<RequestValue> find(std::string_view key) const;
  /// Reads the items of an array in turn, until one fails: `read` gives a Result<void>.
  template <typename F>
  Result<void> each(F&& read) const {
    RETURN_IF_ERROR(expect_array());
    for (size_t i = 0; i < json_->size(); ++i) RETURN_IF_ERROR(read(item(i)));
    return {};
  }

  Result<void> expect_object() const;
  Result<void> expect_array() const;
  Result<std::string> string() const;
  Result<bool> boolean() const;
  Result<int64_t> integer(int64_t min) const;

  // Members of an object: absent ones are an error for get_, nothing for find_.
  Result<RequestValue> get(std::string_view key, std::string_view expected) const;
  Result<std::string> get_string(std::string_view key) const;
  Result<std::optional<std::string>> find_string(std::string_view key) const;
  Result<std::optional<bool>> find_boolean(std::string_view key) const;
  Result<std::optional<int64_t>> find_integer(std::string_view key, int64_t min) const;
  Result<std::optional<RequestValue>> find_object(std::string_view key) const;
  Result<std::optional<RequestValue>> find_array(std::string_view key) const;

  /// "messages[3].role is an integer, expected a string", or for a string what it says.
  Error unexpected(std::string_view expected) const;

 private:
  RequestValue item(size_t index) const;
  RequestValue(const Json& json, std::string path) : json_(&json), path_(std::move(path)) {}

  const Json* json_;
  std::string path_;
};

/// The text of a content: a string, or an array whose parts are texts, joined; "" where absent. What is no
/// text, an image say, is refused.
Result<std::string> text_of(const std::optional<RequestValue>& content);
Result<std::string> text_of_part(const RequestValue& part);

}  // namespace indexshare::api
