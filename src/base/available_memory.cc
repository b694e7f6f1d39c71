#include "base/available_memory.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <string_view>

#include "base/file.h"

namespace indexshare {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxFileBytes = 1 << 20;  // of the files that the kernel shows

std::string text_of(const fs::path& path) {
  auto text = read_file(path, kMaxFileBytes);
  return text.ok() ? *std::move(text) : std::string();
}

// The number at the start of a text, after blanks; nothing for "max" and the like.
std::optional<int64_t> leading_number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

// The number that follows `key` at the start of a line.
std::optional<int64_t> field(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (line.starts_with(key)) return leading_number(line.substr(key.size()));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::nullopt;
}

// What the two versions of control groups call the same things.
struct GroupFiles {
  const char* limit;
  const char* usage;
  const char* cached;  // in memory.stat: file pages that can be dropped
};
constexpr GroupFiles kVersion1 = {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "};
constexpr GroupFiles kVersion2 = {"memory.max", "memory.current", "inactive_file "};

// What one group leaves; nothing where it has no limit.
std::optional<int64_t> left_in_group(const fs::path& group, const GroupFiles& files) {
  const auto limit = leading_number(text_of(group / files.limit));
  const auto usage = leading_number(text_of(group / files.usage));
  if (!limit || !usage) return std::nullopt;
  const int64_t cached = field(text_of(group / "memory.stat"), files.cached).value_or(0);
  return std::max<int64_t>(0, *limit - std::max<int64_t>(0, *usage - cached));
}

// The least that a group or one of those around it leaves. In a container the path may name groups that are
// not shown there; what is shown stands at the top.
int64_t left_in_groups(const fs::path& top, std::string_view path, const GroupFiles& files) {
  int64_t least = std::numeric_limits<int64_t>::max();
  fs::path below = fs::path(path).relative_path();
  while (true) {
    if (const auto left = left_in_group(top / below, files)) least = std::min(least, *left);
    if (below.empty()) return least;
    below = below.parent_path();
  }
}

}  // namespace

std::optional<int64_t> available_memory(const fs::path& root) {
  const auto kilobytes = field(text_of(root / "proc/meminfo"), "MemAvailable:");
  if (!kilobytes) return std::nullopt;
  int64_t least = *kilobytes * 1024;
  // Lines are "number:controllers:path"; version 2 names no controllers.
  const std::string groups = text_of(root / "proc/self/cgroup");
  std::string_view rest = groups;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view path = line.substr(second + 1);
    if (controllers.empty()) {
      least = std::min(least, left_in_groups(root / "sys/fs/cgroup", path, kVersion2));
    } else if (controllers == "memory") {
      least = std::min(least, left_in_groups(root / "sys/fs/cgroup/memory", path, kVersion1));
    }
  }
  return least;
}

}  // namespace indexshare
