#include "text/stream_decoder.h"

#include <string_view>

#include "text/utf8.h"

namespace indexshare {

std::string StreamDecoder::push(int32_t id) {
  if (skip_special_ && tokenizer_->is_special(id)) return {};
  pending_ += tokenizer_->token_bytes(id);
  std::string text;
  std::string_view rest = pending_;
  while (!rest.empty()) {
    const Utf8Step step = utf8_step(rest);
    if (step.kind == Utf8Step::truncated) break;
    text += step.kind == Utf8Step::valid ? rest.substr(0, step.length) : kReplacementUtf8;
    rest.remove_prefix(step.length);
  }
  pending_.erase(0, pending_.size() - rest.size());
  return text;
}

std::string StreamDecoder::flush() {
  std::string text;
  append_repaired(pending_, text);
  pending_.clear();
  return text;
}

}  // namespace indexshare
