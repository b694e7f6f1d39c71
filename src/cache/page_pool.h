// The memory of all caches, in pages, inside a budget.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/memory.h"
#include "cache/layout.h"
#include "indexshare/result.h"

namespace indexshare {

/// Hands out pages of one layout and counts who holds them: sequences that begin alike share their first
/// pages. Memory is taken from the system as pages are first needed, in slabs, and kept for reuse. Not
/// thread-safe: the engine's thread owns it.
class PagePool {
 public:
  /// `budget_bytes` bounds what all pages may take; 0 means no bound. `spread`: over all memory nodes, since
  /// every thread reads them.
  PagePool(CacheLayout layout, int64_t budget_bytes, bool spread = false);

  const CacheLayout& layout() const { return layout_; }

  /// A page, zeroed, with one holder, or nullptr when the budget or the system has no more and nobody gives
  /// one back.
  std::byte* allocate();

  /// One holder more, or one less: the last one's leaving frees the page.
  void hold(std::byte* page) { ++holders_[page]; }
  void release(std::byte* page);
  bool is_shared(std::byte* page) const { return holders_.at(page) > 1; }

  /// Asked for when no page is left: gives back at least one that is only kept in case, or returns false.
  void set_reclaimer(std::function<bool()> reclaim) { reclaim_ = std::move(reclaim); }

  int64_t pages_in_use() const { return std::ssize(holders_); }
  /// Pages that the budget still allows; the largest number without one.
  int64_t pages_left() const;
  int64_t allocated_bytes() const { return allocated_bytes_; }
  int64_t budget_bytes() const { return budget_bytes_; }

 private:
  bool grow();

  CacheLayout layout_;
  int64_t budget_bytes_;
  bool spread_;
  int64_t slab_pages_;  // in a slab, where the budget allows
  int64_t allocated_bytes_ = 0;
  std::vector<Memory> slabs_;
  std::vector<std::byte*> free_;
  std::unordered_map<std::byte*, int32_t> holders_;  // of the pages in use
  std::function<bool()> reclaim_;
};

}  // namespace indexshare
