#include "cache/page_pool.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/numa.h"
#include "base/round_up.h"

namespace indexshare {
namespace {

constexpr int64_t kSlabBytes = int64_t{64} << 20;  // asked of the system at a time; taken where touched
constexpr int64_t kMaxSlabPages = 1024;

}  // namespace

PagePool::PagePool(CacheLayout layout, int64_t budget_bytes, bool spread)
    : layout_(std::move(layout)), budget_bytes_(budget_bytes), spread_(spread) {
  layout_.page_bytes = round_up(layout_.page_bytes, kCacheLine);
  slab_pages_ = std::clamp<int64_t>(kSlabBytes / layout_.page_bytes, 1, kMaxSlabPages);
}

int64_t PagePool::pages_left() const {
  if (budget_bytes_ <= 0) return std::numeric_limits<int64_t>::max();
  return budget_bytes_ / layout_.page_bytes - pages_in_use();
}

bool PagePool::grow() {
  int64_t pages = slab_pages_;
  if (budget_bytes_ > 0) pages = std::min(pages, (budget_bytes_ - allocated_bytes_) / layout_.page_bytes);
  if (pages <= 0) return false;
  const int64_t bytes = pages * layout_.page_bytes;
  Memory slab = Memory::allocate(bytes);
  if (slab.data() == nullptr) return false;
  if (spread_) spread_over_nodes(slab);
  for (int64_t i = pages - 1; i >= 0; --i) free_.push_back(slab.data() + i * layout_.page_bytes);
  slabs_.push_back(std::move(slab));
  allocated_bytes_ += bytes;
  return true;
}

std::byte* PagePool::allocate() {
  if (free_.empty() && !grow() && !(reclaim_ && reclaim_())) return nullptr;
  std::byte* page = free_.back();
  free_.pop_back();
  // Keys of a block that are not written yet are read (and their scores dropped): they must be numbers.
  std::memset(page, 0, static_cast<size_t>(layout_.page_bytes));
  holders_[page] = 1;
  return page;
}

void PagePool::release(std::byte* page) {
  if (--holders_[page] > 0) return;
  holders_.erase(page);
  free_.push_back(page);
}

}  // namespace indexshare
