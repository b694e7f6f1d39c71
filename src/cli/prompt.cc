#include "cli/prompt.h"

#include "base/error.h"
#include "engine/model_runner.h"

namespace indexshare::cli {

Json message(std::string_view role, std::string_view content) {
  return {{"role", role}, {"content", content}};
}

Result<ChatFormat> ChatFormat::create(const Engine& engine, ChatFlags flags, std::string_view instead) {
  if (!engine.info().has_tokenizer) {
    return make_error(
        "the model has no tokenizer.json: give it token ids (indexshare run MODEL --ids 1,2,3)");
  }
  if (!engine.info().has_chat_template) {
    return make_error("the model has no chat template, so it continues text rather than answers: {}",
                      instead);
  }
  return ChatFormat(engine, std::move(flags));
}

Result<std::vector<int32_t>> ChatFormat::encode(const Json& messages) const {
  return encode(messages, /*answer_follows=*/true);
}

Result<std::vector<int32_t>> ChatFormat::encode_opening() const {
  return encode(Json::array(), /*answer_follows=*/false);
}

Result<std::vector<int32_t>> ChatFormat::encode(const Json& messages, bool answer_follows) const {
  Json variables = {{"messages", messages}, {"add_generation_prompt", answer_follows}};
  if (flags_.enable_thinking) variables["enable_thinking"] = *flags_.enable_thinking;
  if (flags_.reasoning_effort) variables["reasoning_effort"] = *flags_.reasoning_effort;
  ASSIGN_OR_RETURN(const std::string text, engine_->runner().render_chat(std::move(variables)));
  return engine_->encode(text);
}

}  // namespace indexshare::cli
