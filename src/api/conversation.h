// The messages of a conversation as chat templates read them, put together from the parts that APIs write.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/request_value.h"
#include "base/json.h"
#include "indexshare/result.h"

namespace indexshare::api {

/// A message of the assistant is its reasoning, then what it says, then its calls. Parts in another order,
/// or after another's message, begin a new one.
class Conversation {
 public:
  /// A message of the system or the user.
  void add(std::string_view role, std::string text);

  /// What a tool gave: a text, or an array of references to tools, {"type": "tool_reference", "name"}.
  void add_tool_result(Json content, const std::optional<std::string>& call_id);

  /// A message of the assistant, perhaps without parts.
  void begin_assistant();
  void think(const std::string& text);
  void say(const std::string& text);
  void call(std::string name, Json arguments, const std::optional<std::string>& id);

  bool ends_with_answer() const;  // of the assistant, without calls
  bool empty() const { return messages_.empty(); }
  Json take() { return std::move(messages_); }

 private:
  bool has(const char* key) const;  // the assistant's open message
  Json& assistant();

  Json messages_ = Json::array();
};

/// The arguments of a call: an object, or a string of JSON that holds one. {} where absent or "".
Result<Json> arguments_of(const std::optional<RequestValue>& arguments);

/// The content of a tool's result, see add_tool_result().
Result<Json> tool_result_of(const std::optional<RequestValue>& content);

}  // namespace indexshare::api
