#include "cache/stored_page.h"

#include <cstring>

#include "base/function_ref.h"

namespace indexshare {
namespace {

/// Bytes that follow one another in a page as in its stored form.
struct Run {
  int64_t page_offset, stored_offset, bytes;
  int64_t
      interleaved;  // bytes that a token has in each group of its block; 0 where tokens are not interleaved
};

constexpr int64_t kScalarBytes = kPageTokens * int64_t{sizeof(float)};  // one number per token of a page

/// Calls `use` with each run of a page's first `tokens` tokens; returns their bytes in all.
int64_t for_each_run(const CacheLayout& layout, int64_t tokens, FunctionRef<void(const Run&)> use) {
  int64_t stored = 0;
  const auto run = [&](int64_t page_offset, int64_t bytes, int64_t interleaved) {
    if (bytes > 0) use({page_offset, stored, bytes, interleaved});
    stored += bytes;
  };
  const int64_t blocks = (tokens + kIndexBlockTokens - 1) / kIndexBlockTokens;
  const int64_t page_blocks = kPageTokens / kIndexBlockTokens;
  for (int64_t layer = 0; layer < layout.layers(); ++layer) {
    run(layout.latent_offset(layer), tokens * layout.latent_row_bytes(), 0);
  }
  for (int64_t layer = 0; layer < layout.layers(); ++layer) {
    if (layout.index_slot[static_cast<size_t>(layer)] < 0) continue;
    const int64_t plain = layout.index_offset(layer);
    const int64_t int8 = plain + layout.plain_keys_bytes();
    const int64_t end = plain + layout.index_area_bytes();
    run(plain, layout.plain_keys_bytes() / page_blocks * blocks, 2 * dtype_bytes(layout.dtype));
    run(int8, layout.int8_keys_bytes() / page_blocks * blocks, 4);
    for (int64_t scalars = int8 + layout.int8_keys_bytes(); scalars < end; scalars += kScalarBytes) {
      run(scalars, tokens * int64_t{sizeof(float)}, 0);
    }
  }
  return stored;
}

/// Zeroes what the block at the end of `stored` holds for tokens beyond the first `filled`.
void clear_rest_of_block(std::byte* block_begin, std::byte* block_end, int64_t filled, int64_t interleaved) {
  const int64_t group = kIndexBlockTokens * interleaved;
  for (std::byte* at = block_begin; at < block_end; at += group) {
    std::memset(at + filled * interleaved, 0, static_cast<size_t>(group - filled * interleaved));
  }
}

}  // namespace

int64_t stored_page_bytes(const CacheLayout& layout, int64_t tokens) {
  return for_each_run(layout, tokens, [](const Run&) {});
}

void store_page(const CacheLayout& layout, int64_t tokens, std::span<const std::byte> page,
                std::span<std::byte> stored) {
  const int64_t filled = tokens % kIndexBlockTokens;
  const int64_t blocks = (tokens + kIndexBlockTokens - 1) / kIndexBlockTokens;
  for_each_run(layout, tokens, [&](const Run& run) {
    std::byte* to = stored.data() + run.stored_offset;
    std::memcpy(to, page.data() + run.page_offset, static_cast<size_t>(run.bytes));
    if (run.interleaved > 0 && filled > 0) {
      clear_rest_of_block(to + run.bytes / blocks * (blocks - 1), to + run.bytes, filled, run.interleaved);
    }
  });
}

void load_page(const CacheLayout& layout, int64_t tokens, std::span<const std::byte> stored,
               std::span<std::byte> page) {
  for_each_run(layout, tokens, [&](const Run& run) {
    std::memcpy(page.data() + run.page_offset, stored.data() + run.stored_offset,
                static_cast<size_t>(run.bytes));
  });
}

}  // namespace indexshare
