// An answer on its way to the user: its text as it is generated, and what there is to tell afterwards.
#pragma once

#include <string>

#include "base/json.h"
#include "indexshare/engine.h"
#include "indexshare/result.h"

namespace indexshare::cli {

/// Writes to stdout: the answer's text and, on a terminal alone, the reasoning before it, dimmed; for a model
/// without a tokenizer the ids.
class AnswerStream {
 public:
  explicit AnswerStream(const Engine& engine);

  /// False once nothing more can be written: a reason to stop.
  bool show(const GeneratedPiece& piece);

  /// Ends the last line; the error of the first write that failed.
  Result<void> finish();

 private:
  void write(std::string_view text);

  bool ids_only_;
  bool terminal_;
  bool dimmed_ = false;
  bool empty_ = true;
  bool at_line_start_ = false;
  Result<void> status_;
};

/// One line of tokens, their speed, and the indexer's share of the time and of the FLOPs.
std::string statistics_line(const GenerationResult& result);

/// The answer as `indexshare run --json` prints it.
Json answer_json(const Engine& engine, const GenerationRequest& request, const GenerationResult& result);

}  // namespace indexshare::cli
