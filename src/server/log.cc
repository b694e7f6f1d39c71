#include "server/log.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>

#include "base/error.h"
#include "base/json.h"

namespace indexshare::server {
namespace {

constexpr std::string_view kNames[] = {"debug", "info", "warning", "error", "off"};
constexpr size_t kMaxTextBytes = 200;

std::string time_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now);
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now - seconds);
  const auto whole = static_cast<std::time_t>(seconds.count());
  std::tm time = {};
  ::gmtime_r(&whole, &time);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", time.tm_year + 1900, time.tm_mon + 1,
                     time.tm_mday, time.tm_hour, time.tm_min, time.tm_sec, milliseconds.count());
}

// Text of others in a line of the log: short, printable, without quotes.
std::string printable(std::string_view text) {
  std::string safe(text.substr(0, kMaxTextBytes));
  std::replace_if(
      safe.begin(), safe.end(), [](char c) { return c < ' ' || c > '~' || c == '"'; }, '?');
  return safe;
}

Json json_of(const LogField& field) {
  if (field.kind == LogField::Kind::text) return printable(field.value);
  if (field.kind == LogField::Kind::number) {
    const Json number = Json::parse(field.value, nullptr, /*allow_exceptions=*/false);
    if (number.is_number()) return number;
  }
  return field.value;
}

std::string line_of(LogFormat format, std::string_view level, std::string_view text,
                    std::span<const LogField> fields) {
  if (format == LogFormat::json) {
    Json line = {{"time", time_now()}, {"level", level}};
    if (!text.empty()) line["message"] = text;
    for (const LogField& field : fields) line[std::string(field.name)] = json_of(field);
    return dump_json(line) + "\n";
  }
  std::string line = fmt::format("{} {}", time_now(), level);
  if (!text.empty()) line += fmt::format(" {}", text);
  for (const LogField& field : fields) {
    line += field.kind == LogField::Kind::text ? fmt::format(" {}=\"{}\"", field.name, printable(field.value))
                                               : fmt::format(" {}={}", field.name, field.value);
  }
  return line + "\n";
}

}  // namespace

std::optional<LogLevel> find_log_level(std::string_view name) {
  for (const LogLevel level :
       {LogLevel::debug, LogLevel::info, LogLevel::warning, LogLevel::error, LogLevel::off}) {
    if (name == kNames[static_cast<size_t>(level)]) return level;
  }
  return std::nullopt;
}

void Log::write(LogLevel level, std::string_view text, std::span<const LogField> fields) const {
  if (!writes(level)) return;
  const std::string line = line_of(format_, kNames[static_cast<size_t>(level)], text, fields);
  const std::lock_guard lock(mutex_);
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

}  // namespace indexshare::server
