// What memory the machine has to give.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace indexshare {

/// Bytes that this process may still take without anything being swapped out or killed: what the kernel
/// calls available, or less where a control group (v1 or v2) is limited to less. Files that are only cached
/// count as available. Nothing where the system does not say. `root` stands for "/" in tests.
std::optional<int64_t> available_memory(const std::filesystem::path& root = "/");

}  // namespace indexshare
