// Token ids to text as they come: whole characters only, and in sum exactly what decode() gives.
#pragma once

#include <cstdint>
#include <string>

#include "text/tokenizer.h"

namespace indexshare {

/// The texts returned by push() and a final flush(), joined, are tokenizer.decode() of all the ids.
class StreamDecoder {
 public:
  /// `tokenizer` must outlive this.
  explicit StreamDecoder(const Tokenizer& tokenizer, bool skip_special = false)
      : tokenizer_(&tokenizer), skip_special_(skip_special) {}

  /// The text that this id completes: nothing while the last character lacks bytes.
  std::string push(int32_t id);

  /// The rest: U+FFFD for a character that was left incomplete. The next push() begins a new text.
  std::string flush();

 private:
  const Tokenizer* tokenizer_;
  bool skip_special_;
  std::string pending_;  // the beginning of a character: up to 3 bytes
};

}  // namespace indexshare
