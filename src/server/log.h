// The log: one line per event on the standard error, as key=value or as a JSON object.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace indexshare::server {

enum class LogLevel : uint8_t { debug, info, warning, error, off };

/// "debug", "info", "warning", "error" or "off".
std::optional<LogLevel> find_log_level(std::string_view name);

enum class LogFormat : uint8_t { text, json };

/// Of an event. A text is that of others: quoted, shortened and made printable.
struct LogField {
  enum class Kind : uint8_t { word, number, text };
  std::string_view name;
  std::string value;
  Kind kind = Kind::word;
};

/// From any thread.
class Log {
 public:
  explicit Log(LogLevel level, LogFormat format = LogFormat::text) : level_(level), format_(format) {}

  /// If the level is wanted, 2026-01-31T12:00:00.123Z info TEXT NAME=VALUE NAME="VALUE", or an object of
  /// "time", "level", "message" and the fields. `text` may be empty.
  void write(LogLevel level, std::string_view text, std::span<const LogField> fields = {}) const;
  bool writes(LogLevel level) const { return level >= level_; }

 private:
  LogLevel level_;
  LogFormat format_;
  mutable std::mutex mutex_;
};

}  // namespace indexshare::server
