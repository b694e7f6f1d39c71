// JSON through nlohmann/json, with its exceptions turned into errors that name their source.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "indexshare/result.h"

namespace indexshare {

/// Objects keep the order of their keys (chat templates print them). Look-up of a key is linear:
/// for objects with thousands of keys use SortedJson.
using Json = nlohmann::ordered_json;
using SortedJson = nlohmann::json;

inline constexpr int kMaxJsonDepth = 256;  // nesting beyond this is refused

/// Parses UTF-8 `text`. `source` names it in errors ("config.json"). Refuses duplicate keys, invalid
/// UTF-8, nesting over kMaxJsonDepth, more than 4 million values and anything after the value.
Result<Json> parse_json(std::string_view text, std::string_view source);
Result<SortedJson> parse_sorted_json(std::string_view text, std::string_view source);

/// Compact text; invalid UTF-8 in strings becomes U+FFFD.
std::string dump_json(const Json& json, int indent = -1);

/// For errors: what kind of value this is, in words ("a string", "an array").
std::string_view json_kind(const Json& json);
std::string_view json_kind(const SortedJson& json);

}  // namespace indexshare
