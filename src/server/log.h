// The log: one line per event on the standard error, as key=value.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>

namespace indexshare::server {

enum class LogLevel : uint8_t { debug, info, warning, error, off };

/// "debug", "info", "warning", "error" or "off".
std::optional<LogLevel> find_log_level(std::string_view name);

/// From any thread.
class Log {
 public:
  explicit Log(LogLevel level) : level_(level) {}

  /// "2026-01-31T12:00:00.123Z info " and the text, if the level is wanted.
  void write(LogLevel level, std::string_view text) const;
  bool writes(LogLevel level) const { return level >= level_; }

 private:
  LogLevel level_;
  mutable std::mutex mutex_;
};

}  // namespace indexshare::server
