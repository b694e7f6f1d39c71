// How hard a model is to reason: from the words of clients to those of chat templates.
#pragma once

#include <optional>
#include <string_view>

namespace indexshare {

/// Z.ai's own mapping: "max" for max and xhigh, "high" for high, medium and low, "" (no reasoning) for
/// minimal and none. Nothing for any other word. Templates know the word high alone, and take all others for
/// max.
constexpr std::optional<std::string_view> effort_for_template(std::string_view word) {
  if (word == "max" || word == "xhigh") return "max";
  if (word == "high" || word == "medium" || word == "low") return "high";
  if (word == "minimal" || word == "none") return "";
  return std::nullopt;
}

}  // namespace indexshare
