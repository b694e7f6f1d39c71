// From a conversation to the ids of a prompt.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "cli/options.h"
#include "indexshare/engine.h"
#include "indexshare/result.h"

namespace indexshare::cli {

/// {"role": role, "content": content}
Json message(std::string_view role, std::string_view content);

class ChatFormat {
 public:
  /// Fails where the model has no tokenizer or no chat template, and says what to do `instead` of chatting.
  /// `engine` must outlive the result.
  static Result<ChatFormat> create(const Engine& engine, ChatFlags flags, std::string_view instead);

  /// The messages through the model's template and tokenizer, ready for the model's answer.
  Result<std::vector<int32_t>> encode(const Json& messages) const;

  /// What the template puts before the first message.
  Result<std::vector<int32_t>> encode_opening() const;

 private:
  Result<std::vector<int32_t>> encode(const Json& messages, bool answer_follows) const;

  ChatFormat(const Engine& engine, ChatFlags flags) : engine_(&engine), flags_(std::move(flags)) {}

  const Engine* engine_;
  ChatFlags flags_;
};

}  // namespace indexshare::cli
