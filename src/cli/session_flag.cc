#include "cli/session_flag.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"

namespace indexshare::cli {

void add_session_flag(CLI::App& command, std::string& file) {
  command
      .add_option("--session", file,
                  "go on with the sequence in this file, if there is one, and save it there at the end")
      ->type_name("FILE");
}

std::vector<int32_t> answered_tokens(const Engine& engine, std::span<const int32_t> prompt,
                                     const GenerationResult& result) {
  std::vector<int32_t> tokens(prompt.begin(), prompt.end());
  tokens.insert(tokens.end(), result.ids.begin(), result.ids.end());
  const std::vector<int32_t>& stops = engine.info().stop_ids;
  if (result.finish_reason == FinishReason::stop && !result.ids.empty() &&
      std::find(stops.begin(), stops.end(), result.ids.back()) != stops.end()) {
    tokens.pop_back();
  }
  return tokens;
}

Result<KeptSession> KeptSession::open(Engine& engine, const std::string& file) {
  if (file.empty()) return KeptSession(engine, file, {});
  // An answer should not be lost because its file could never be written.
  const std::filesystem::path directory = std::filesystem::path(file).parent_path();
  std::error_code ignored;
  if (!directory.empty() && !std::filesystem::is_directory(directory, ignored)) {
    return make_error(ErrorCode::not_found, "{}: there is no directory {}", file, directory.string());
  }
  Result<std::vector<int32_t>> tokens = engine.restore_session(file);
  if (tokens.ok()) return KeptSession(engine, file, std::move(*tokens));
  if (tokens.error().code == ErrorCode::not_found) return KeptSession(engine, file, {});
  return tokens.error();
}

std::string KeptSession::kept_line(std::span<const int32_t> prompt) const {
  if (tokens_.empty()) return "";
  const auto common = std::mismatch(tokens_.begin(), tokens_.end(), prompt.begin(), prompt.end()).first;
  return fmt::format("{}: {} of its {} tokens begin the prompt", file_, common - tokens_.begin(),
                     tokens_.size());
}

Result<void> KeptSession::save(std::span<const int32_t> tokens) const {
  if (file_.empty() || tokens.empty()) return {};
  return engine_->save_session(file_, tokens);
}

}  // namespace indexshare::cli
