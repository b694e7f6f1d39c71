#include "server/session_store.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"

namespace indexshare::server {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".session";
constexpr size_t kMaxName = 64;
constexpr int64_t kHeaderBytes = 4096;  // of a file, beside its token ids and their rows: more than it takes

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

// The clock of files counts from another time than that of the system.
int64_t unix_seconds(fs::file_time_type time) {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::file_clock::to_sys(time).time_since_epoch())
      .count();
}

}  // namespace

Result<std::unique_ptr<SessionStore>> SessionStore::open(Engine& engine, fs::path directory,
                                                         int64_t max_bytes) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) {
    return make_error(ErrorCode::io, "{}: cannot be made: {}", directory.string(), error.message());
  }
  return std::unique_ptr<SessionStore>(new SessionStore(engine, std::move(directory), max_bytes));
}

SessionStore::SessionStore(Engine& engine, fs::path directory, int64_t max_bytes)
    : engine_(engine), directory_(std::move(directory)), max_bytes_(max_bytes), thread_([this] { work(); }) {}

SessionStore::~SessionStore() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

bool SessionStore::is_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName && name.front() != '.' &&
         std::ranges::all_of(
             name, [](char c) { return is_letter_or_digit(c) || c == '_' || c == '-' || c == '.'; });
}

fs::path SessionStore::path_of(const std::string& name) const {
  return directory_ / fmt::format("{}{}", name, kSuffix);
}

// What the engine says of a file, said of the session.
Error SessionStore::about(const std::string& name, const Error& error) const {
  const std::string path = path_of(name).string();
  std::string message = error.message;
  for (size_t at = 0; (at = message.find(path, at)) != std::string::npos;) {
    message.replace(at, path.size(), fmt::format("session {}", name));
  }
  return {std::move(message), error.code};
}

Result<std::vector<SavedSession>> SessionStore::list() const {
  std::vector<SavedSession> found;
  std::error_code error;
  fs::directory_iterator at(directory_, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    std::error_code gone;  // files may go while we look
    const std::string file = at->path().filename().string();
    if (!file.ends_with(kSuffix) || !at->is_regular_file(gone)) continue;
    std::string name = file.substr(0, file.size() - kSuffix.size());
    const auto bytes = static_cast<int64_t>(at->file_size(gone));
    const auto time = at->last_write_time(gone);
    if (!gone && is_name(name)) found.push_back({std::move(name), bytes, unix_seconds(time)});
  }
  if (error) return make_error(ErrorCode::io, "the sessions cannot be listed: {}", error.message());
  std::ranges::sort(found, {}, &SavedSession::name);
  return found;
}

bool SessionStore::has(const std::string& name) const {
  std::error_code ignored;
  return fs::is_regular_file(path_of(name), ignored);
}

Result<void> SessionStore::remove(const std::string& name) {
  std::error_code error;
  fs::remove(path_of(name), error);
  if (error) {
    return make_error(ErrorCode::io, "session {} cannot be removed: {}", name, error.message());
  }
  return {};
}

Result<void> SessionStore::save(const std::string& name, std::span<const int32_t> tokens) {
  ASSIGN_OR_RETURN(const std::vector<SavedSession> all, list());
  const int64_t token_bytes = engine_.info().cache_bytes_per_token + int64_t{sizeof(int32_t)};
  int64_t bytes = kHeaderBytes + std::ssize(tokens) * token_bytes;
  for (const SavedSession& other : all) bytes += other.name == name ? 0 : other.bytes;
  if (bytes > max_bytes_) {
    return make_error("session {} would make {} bytes of all sessions, expected at most {}: remove some",
                      name, bytes, max_bytes_);
  }
  const Result<void> saved = engine_.save_session(path_of(name), tokens);
  if (!saved.ok()) return about(name, saved.error());
  return {};
}

Result<int64_t> SessionStore::restore(const std::string& name) {
  const auto tokens = engine_.restore_session(path_of(name));
  if (!tokens.ok()) return about(name, tokens.error());
  return std::ssize(*tokens);
}

void SessionStore::post(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void SessionStore::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return closing_ || !tasks_.empty(); });
    if (closing_) return;
    {
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
    }
    lock.lock();
  }
}

}  // namespace indexshare::server
