// Sequences that clients have saved, by name, in the files of one directory.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "indexshare/engine.h"
#include "indexshare/result.h"

namespace indexshare::server {

struct SavedSession {
  std::string name;
  int64_t bytes = 0;
  int64_t saved = 0;  // seconds since 1970
};

/// Errors name sessions, never the server's files. Files that are not sessions are left alone.
class SessionStore {
 public:
  /// Makes the directory where it is missing. `engine` must outlive the store; `max_bytes` is for all files.
  static Result<std::unique_ptr<SessionStore>> open(Engine& engine, std::filesystem::path directory,
                                                    int64_t max_bytes);

  /// Waits for the task that is running; those that were not begun are dropped.
  ~SessionStore();
  SessionStore(const SessionStore&) = delete;
  SessionStore& operator=(const SessionStore&) = delete;

  /// Letters, digits, "_", "-" and "." behind the first, 64 at most: it cannot lead out of the directory.
  static bool is_name(std::string_view name);

  /// By name.
  Result<std::vector<SavedSession>> list() const;
  bool has(const std::string& name) const;
  Result<void> remove(const std::string& name);

  /// Saves a sequence in place of what the name stood for, whole or not at all.
  Result<void> save(const std::string& name, std::span<const int32_t> tokens);

  /// Into the engine's cache; returns how many tokens.
  Result<int64_t> restore(const std::string& name);

  /// Runs what takes long on the store's own thread, one after the other.
  void post(std::function<void()> task);

 private:
  SessionStore(Engine& engine, std::filesystem::path directory, int64_t max_bytes);
  std::filesystem::path path_of(const std::string& name) const;
  Error about(const std::string& name, const Error& error) const;
  void work();

  Engine& engine_;
  std::filesystem::path directory_;
  int64_t max_bytes_;

  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool closing_ = false;

  std::thread thread_;  // last, as it begins at once
};

}  // namespace indexshare::server
