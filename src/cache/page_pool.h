// The memory of all caches, in pages, inside a budget.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/memory.h"
#include "cache/layout.h"
#include "indexshare/result.h"

namespace indexshare {

/// Hands out pages of one layout. Memory is taken from the system as pages are first needed, in slabs, and
/// kept for reuse. Not thread-safe: the engine's thread owns it.
class PagePool {
 public:
  /// `budget_bytes` bounds what all pages may take; 0 means no bound. `spread`: over all memory nodes, since
  /// every thread reads them.
  PagePool(CacheLayout layout, int64_t budget_bytes, bool spread = false);

  const CacheLayout& layout() const { return layout_; }

  /// A page, zeroed, or nullptr when the budget or the system has no more.
  std::byte* allocate();
  void release(std::byte* page);

  int64_t pages_in_use() const { return in_use_; }
  int64_t allocated_bytes() const { return allocated_bytes_; }
  int64_t budget_bytes() const { return budget_bytes_; }

 private:
  bool grow();

  CacheLayout layout_;
  int64_t budget_bytes_;
  bool spread_;
  int64_t slab_pages_;  // in a slab, where the budget allows
  int64_t allocated_bytes_ = 0;
  int64_t in_use_ = 0;
  std::vector<Memory> slabs_;
  std::vector<std::byte*> free_;
};

}  // namespace indexshare
