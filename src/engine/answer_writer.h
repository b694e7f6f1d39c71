// Turns the ids of an answer into its texts as they come.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/model_runner.h"
#include "engine/stop_matcher.h"
#include "indexshare/generation.h"
#include "text/stream_decoder.h"

namespace indexshare {

class AnswerWriter {
 public:
  /// Whether the answer begins as reasoning is read from the prompt. `runner` must outlive this.
  AnswerWriter(const ModelRunner& runner, const GenerationRequest& request);

  /// Whether what comes next is told as reasoning: never where the whole text is asked for.
  bool reasoning() const { return reasoning_ && !whole_text_; }
  /// Whether it is reasoning.
  bool inside_reasoning() const { return reasoning_; }
  bool stopped() const { return matcher_.stopped(); }

  /// The text that `id` makes certain: appended to `result`, and returned.
  std::string push(int32_t id, GenerationResult& result);

  /// What was held back, when nothing more comes.
  std::string finish(GenerationResult& result);

 private:
  std::string switch_to(bool reasoning, GenerationResult& result);
  std::string write(const std::string& text, GenerationResult& result);
  std::string append(std::string text, GenerationResult& result) const;

  const ModelRunner& runner_;
  bool whole_text_;
  int64_t min_tokens_;  // before which no stop text counts
  StopMatcher matcher_;
  std::optional<StreamDecoder> decoder_;
  bool reasoning_;
};

}  // namespace indexshare
