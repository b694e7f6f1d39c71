#include "cache/sequence.h"

#include <cstring>
#include <utility>

#include "base/error.h"

namespace indexshare {

SequenceCache::SequenceCache(SequenceCache&& other) noexcept
    : pool_(other.pool_), pages_(std::move(other.pages_)), length_(std::exchange(other.length_, 0)) {
  other.pages_.clear();
}

SequenceCache::SequenceCache(PagePool& pool, std::span<std::byte* const> pages, int64_t length)
    : pool_(&pool), pages_(pages.begin(), pages.end()), length_(length) {
  for (std::byte* page : pages_) pool_->hold(page);
}

// Copies the last page if it is begun and shared; false when there is no page for the copy.
bool SequenceCache::own_last_page() {
  if (length_ % kPageTokens == 0 || !pool_->is_shared(pages_.back())) return true;
  std::byte* copy = pool_->allocate();
  if (copy == nullptr) return false;
  std::memcpy(copy, pages_.back(), static_cast<size_t>(layout().page_bytes));
  pool_->release(pages_.back());
  pages_.back() = copy;
  return true;
}

SequenceCache& SequenceCache::operator=(SequenceCache&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(pages_, other.pages_);
  std::swap(length_, other.length_);
  return *this;
}

Result<void> SequenceCache::extend(int64_t tokens) {
  const int64_t length = length_ + tokens;
  const auto wanted = static_cast<size_t>(pages_for(length));
  const size_t had = pages_.size();
  bool enough = own_last_page();
  while (enough && pages_.size() < wanted) {
    std::byte* page = pool_->allocate();
    enough = page != nullptr;
    if (enough) pages_.push_back(page);
  }
  if (!enough) {
    for (; pages_.size() > had; pages_.pop_back()) pool_->release(pages_.back());
    const int64_t limit = pool_->budget_bytes();
    return make_error(ErrorCode::out_of_memory,
                      "no memory for the cache of {} tokens (a page for {} of them takes {} bytes{})", length,
                      kPageTokens, layout().page_bytes,
                      limit > 0 ? fmt::format(", {} bytes allowed for all sequences", limit) : "");
  }
  length_ = length;
  return {};
}

void SequenceCache::truncate(int64_t length) {
  if (length >= length_) return;
  const auto keep = static_cast<size_t>(pages_for(length));
  for (; pages_.size() > keep; pages_.pop_back()) pool_->release(pages_.back());
  length_ = length;
}

}  // namespace indexshare
