// The cache of one sequence: a table of pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cache/page_pool.h"

namespace indexshare {

/// Holds the pages of one sequence, the first of them perhaps together with others: what is shared is never
/// written; a page that is begun, and shared, is copied when its sequence goes on. `length()` counts the
/// tokens whose rows are written or about to be, by the forward pass that the pages were reserved for.
class SequenceCache {
 public:
  explicit SequenceCache(PagePool& pool) : pool_(&pool) {}
  /// Begins with the first `length` tokens of `pages`, holding these too.
  SequenceCache(PagePool& pool, std::span<std::byte* const> pages, int64_t length);
  ~SequenceCache() { truncate(0); }
  SequenceCache(SequenceCache&& other) noexcept;
  SequenceCache& operator=(SequenceCache&& other) noexcept;

  int64_t length() const { return length_; }
  std::span<std::byte* const> pages() const { return pages_; }
  const CacheLayout& layout() const { return pool_->layout(); }

  /// Makes the sequence `tokens` longer. When the pool has no page left, nothing changes and the error says
  /// so.
  Result<void> extend(int64_t tokens);

  /// Forgets all tokens from position `length` on and gives their pages back.
  void truncate(int64_t length);

  /// Page `index` of the sequence, all of it: layout().page_bytes bytes.
  std::span<std::byte> page_bytes(int64_t index) const {
    return {page(index * kPageTokens), static_cast<size_t>(layout().page_bytes)};
  }

  /// The latent row of a token: layout().latent_width values.
  std::byte* latent_row(int64_t layer, int64_t position) const {
    return page(position) + layout().latent_offset(layer) +
           position % kPageTokens * layout().latent_row_bytes();
  }

  /// The key block that holds a token's index key; the token is number position % 16 in it. Blocks of one
  /// page follow one another. `layer` must be a full layer, and its keys not kept in int8 alone.
  std::byte* index_block(int64_t layer, int64_t position) const {
    const CacheLayout& l = layout();
    return page(position) + l.index_offset(layer) +
           position % kPageTokens / kIndexBlockTokens * l.index_block_values() * dtype_bytes(l.dtype);
  }

  /// The same for the keys in int8, which the layout must have.
  Int8Keys int8_block(int64_t layer, int64_t position) const {
    const CacheLayout& l = layout();
    const int64_t block = position % kPageTokens / kIndexBlockTokens;
    std::byte* keys = page(position) + l.index_offset(layer) + l.plain_keys_bytes();
    float* scales = reinterpret_cast<float*>(keys + l.int8_keys_bytes()) + block * kIndexBlockTokens;
    const bool screened = l.index_keys == IndexKeys::screened;
    return {.keys = reinterpret_cast<int8_t*>(keys) + block * l.int8_block_bytes(),
            .scales = scales,
            .norms = screened ? scales + kPageTokens : nullptr,
            .errors = screened ? scales + 2 * kPageTokens : nullptr};
  }

 private:
  bool own_last_page();
  std::byte* page(int64_t position) const { return pages_[static_cast<size_t>(position / kPageTokens)]; }

  PagePool* pool_;
  std::vector<std::byte*> pages_;
  int64_t length_ = 0;
};

}  // namespace indexshare
