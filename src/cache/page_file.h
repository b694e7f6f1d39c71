// One full page of a sequence in a file of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "cache/layout.h"
#include "indexshare/result.h"

namespace indexshare {

/// What a file says of its page: the version of the format, the model (by its fingerprint), the layout, and
/// all tokens of the sequence up to the page's end. A reader knows all of it beforehand: nothing is parsed,
/// and a file is only ever taken for the page that is asked for.
std::string page_file_head(std::string_view fingerprint, const CacheLayout& layout,
                           std::span<const int32_t> tokens);

/// Bytes of a file with a head of that many bytes.
int64_t page_file_bytes(const CacheLayout& layout, int64_t head_bytes);

/// Writes `page` (of layout.page_bytes, or more where a pool pads), whole or not at all.
Result<void> write_page_file(const std::filesystem::path& path, std::string_view head,
                             const CacheLayout& layout, std::span<const std::byte> page);

/// Fills `page`, whose content is undefined where this fails: the file has another head or is damaged.
Result<void> read_page_file(const std::filesystem::path& path, std::string_view head,
                            const CacheLayout& layout, std::span<std::byte> page);

}  // namespace indexshare
