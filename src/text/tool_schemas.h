// The tools of a request: the forms that clients write them in, and the types of their arguments.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/json.h"
#include "indexshare/result.h"

namespace indexshare {

/// Types that JSON values may have by a schema, as a set of bits.
using JsonTypes = uint8_t;
inline constexpr JsonTypes kNullType = 1, kBooleanType = 2, kIntegerType = 4, kNumberType = 8,
                           kStringType = 16, kArrayType = 32, kObjectType = 64, kAnyType = 127;

/// The type of a value, one bit.
JsonTypes type_of(const Json& value);

/// A tool's name is of letters, digits, "_-.:/" and what is not ASCII.
inline constexpr size_t kMaxToolNameBytes = 256;
bool is_tool_name_byte(char c);

/// `tools` in the form that chat templates read, {"type": "function", "function": {"name", "description",
/// "parameters", ...}}. Each may stand in that form, in the flat one ({"type": "function", "name", ...}), or
/// in Anthropic's ({"name", "input_schema"}). Names must differ. A tool that its provider would have to run
/// ({"type": "web_search"}) is refused. Errors name the tool as `where`[i].
Result<Json> openai_tools(const Json& tools, std::string_view where = "tools");

/// What the schemas of tools say of the types of their arguments; no tools as a default.
class ToolSchemas {
 public:
  ToolSchemas() = default;
  /// Of tools as openai_tools() gives them.
  explicit ToolSchemas(const Json& tools);

  bool empty() const { return tools_.empty(); }
  bool contains(std::string_view tool) const { return tools_.contains(tool); }

  /// The types that an argument may have: of "type", else of "enum", "const", "properties" or "items";
  /// of all branches of "anyOf", "oneOf" and "allOf"; behind "$ref"s into the same schema. Any type where the
  /// schema does not say, or the tool is unknown.
  JsonTypes types(std::string_view tool, std::string_view argument) const;

 private:
  struct Arguments {
    std::map<std::string, JsonTypes, std::less<>> types;
    JsonTypes others = kAnyType;  // additionalProperties
  };
  std::map<std::string, Arguments, std::less<>> tools_;
};

}  // namespace indexshare
