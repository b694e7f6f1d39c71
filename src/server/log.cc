#include "server/log.h"

#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>

#include "base/error.h"

namespace indexshare::server {
namespace {

constexpr std::string_view kNames[] = {"debug", "info", "warning", "error", "off"};

}  // namespace

std::optional<LogLevel> find_log_level(std::string_view name) {
  for (const LogLevel level :
       {LogLevel::debug, LogLevel::info, LogLevel::warning, LogLevel::error, LogLevel::off}) {
    if (name == kNames[static_cast<size_t>(level)]) return level;
  }
  return std::nullopt;
}

void Log::write(LogLevel level, std::string_view text) const {
  if (!writes(level)) return;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now);
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now - seconds);
  const auto whole = static_cast<std::time_t>(seconds.count());
  std::tm time = {};
  ::gmtime_r(&whole, &time);
  const std::string line =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z {} {}\n", time.tm_year + 1900, time.tm_mon + 1,
                  time.tm_mday, time.tm_hour, time.tm_min, time.tm_sec, milliseconds.count(),
                  kNames[static_cast<size_t>(level)], text);
  const std::lock_guard lock(mutex_);
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

}  // namespace indexshare::server
