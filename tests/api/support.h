// Requests as texts of JSON, and what is read off them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "api/chat_input.h"
#include "base/json.h"
#include "indexshare/result.h"
#include "text/chat_template.h"

namespace indexshare::api {

using Reader = Result<ChatInput> (*)(const Json&);

/// The messages of a request, or why it is refused.
inline std::string messages_of(Reader read, std::string_view request) {
  const Result<ChatInput> input = read(*parse_json(request, "test"));
  return input ? dump_json(input->variables["messages"]) : input.error().message;
}

/// A request's prompt by GLM's published template, which is not part of the repository: nothing without it.
inline std::optional<std::string> prompt_of(Reader read, std::string_view request,
                                            std::string_view model = "glm-5.2") {
  const std::filesystem::path file =
      std::filesystem::path(INDEXSHARE_SOURCE_DIR "/../shared/templates") / (std::string(model) + ".jinja");
  if (!std::filesystem::exists(file)) return std::nullopt;
  const auto chat = load_chat_template(file);
  if (!chat || !*chat) return "the template cannot be read";
  Result<ChatInput> input = read(*parse_json(request, "test"));
  if (!input) return input.error().message;
  if (!input->variables.contains("add_generation_prompt")) input->variables["add_generation_prompt"] = true;
  const Result<std::string> text = (*chat)->render(input->variables);
  return text ? *text : text.error().message;
}

}  // namespace indexshare::api
