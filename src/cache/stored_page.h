// Pages as files hold them: the rows and keys of a page's first tokens, without gaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cache/layout.h"

namespace indexshare {

/// Bytes of the stored form of a page's first `tokens` tokens, 0 to kPageTokens. That of a full page is the
/// page itself, without the padding that a pool may put behind it.
int64_t stored_page_bytes(const CacheLayout& layout, int64_t tokens);

/// Writes the stored form of `page` to `stored`, which is of that many bytes. What stands in the last block
/// of keys for tokens beyond is stored as zero, so that the bytes depend on the tokens alone.
void store_page(const CacheLayout& layout, int64_t tokens, std::span<const std::byte> page,
                std::span<std::byte> stored);

/// The reverse; bytes of `page` that `stored` says nothing of stay as they are.
void load_page(const CacheLayout& layout, int64_t tokens, std::span<const std::byte> stored,
               std::span<std::byte> page);

}  // namespace indexshare
