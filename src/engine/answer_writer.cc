#include "engine/answer_writer.h"

#include <algorithm>
#include <span>

namespace indexshare {
namespace {

// Whether text that follows these tokens is reasoning: the last marker opened it.
bool ends_inside_reasoning(std::span<const int32_t> tokens, const MarkerTokens& markers) {
  for (auto id = tokens.rbegin(); id != tokens.rend(); ++id) {
    if (markers.end_think && *id == *markers.end_think) return false;
    if (markers.think && *id == *markers.think) return true;
  }
  return false;
}

}  // namespace

AnswerWriter::AnswerWriter(const ModelRunner& runner, const GenerationRequest& request)
    : runner_(runner),
      whole_text_(request.whole_text),
      min_tokens_(request.sampling.min_tokens),
      matcher_(request.stop, request.include_stop),
      reasoning_(ends_inside_reasoning(request.prompt, runner.markers())) {
  if (runner.tokenizer() != nullptr) decoder_.emplace(*runner.tokenizer(), /*skip_special=*/!whole_text_);
}

std::string AnswerWriter::push(int32_t id, GenerationResult& result) {
  const MarkerTokens& markers = runner_.markers();
  if (id == markers.think || id == markers.end_think) {
    const bool opens = id == markers.think;
    if (!whole_text_) return switch_to(opens, result);
    reasoning_ = opens;
  } else if (reasoning_) {
    ++result.reasoning_tokens;
  }
  if (!decoder_) return {};
  // What opens and closes a tool call is part of the answer, even where the tokenizer calls it special.
  if (std::binary_search(markers.tool_calls.begin(), markers.tool_calls.end(), id)) {
    return write(decoder_->flush() + std::string(runner_.tokenizer()->token_bytes(id)), result);
  }
  return write(decoder_->push(id), result);
}

std::string AnswerWriter::finish(GenerationResult& result) {
  if (!decoder_ || stopped()) return {};
  std::string text = write(decoder_->flush(), result);
  if (!reasoning() && !stopped()) text += append(matcher_.flush(), result);
  return text;
}

std::string AnswerWriter::switch_to(bool reasoning, GenerationResult& result) {
  std::string rest = finish(result);
  reasoning_ = reasoning;
  return rest;
}

// Stop texts are looked for in the answer alone, once it may end.
std::string AnswerWriter::write(const std::string& text, GenerationResult& result) {
  const bool may_end = !reasoning() && std::ssize(result.ids) > min_tokens_;
  std::string certain = append(may_end ? matcher_.push(text) : text, result);
  if (stopped()) result.stop_text = matcher_.met();
  return certain;
}

std::string AnswerWriter::append(std::string text, GenerationResult& result) const {
  (reasoning() ? result.reasoning : result.text) += text;
  return text;
}

}  // namespace indexshare
