// --session FILE: a sequence that outlives the program.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "indexshare/engine.h"
#include "indexshare/result.h"

namespace indexshare::cli {

void add_session_flag(CLI::App& command, std::string& file);

/// The prompt with its answer, as the next turn will have them: without the token that ended it.
std::vector<int32_t> answered_tokens(const Engine& engine, std::span<const int32_t> prompt,
                                     const GenerationResult& result);

/// What a session file holds at the start, and is to hold at the end. Without a file it does nothing.
class KeptSession {
 public:
  /// Restores `file`, unless there is none yet. One that cannot be restored is refused, and stays as it is.
  /// `engine` must outlive the result.
  static Result<KeptSession> open(Engine& engine, const std::string& file);

  /// That were restored.
  const std::vector<int32_t>& tokens() const { return tokens_; }

  /// "session: 120 of its 130 tokens begin the prompt"; empty where nothing was restored.
  std::string kept_line(std::span<const int32_t> prompt) const;

  /// Puts `tokens` into the file; nothing where there are none.
  Result<void> save(std::span<const int32_t> tokens) const;

 private:
  KeptSession(Engine& engine, std::string file, std::vector<int32_t> tokens)
      : engine_(&engine), file_(std::move(file)), tokens_(std::move(tokens)) {}

  Engine* engine_;
  std::string file_;  // empty: none
  std::vector<int32_t> tokens_;
};

}  // namespace indexshare::cli
