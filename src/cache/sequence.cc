#include "cache/sequence.h"

#include <utility>

#include "base/error.h"

namespace indexshare {

SequenceCache::SequenceCache(SequenceCache&& other) noexcept
    : pool_(other.pool_), pages_(std::move(other.pages_)), length_(std::exchange(other.length_, 0)) {
  other.pages_.clear();
}

Result<void> SequenceCache::extend(int64_t tokens) {
  const int64_t length = length_ + tokens;
  const auto wanted = static_cast<size_t>((length + kPageTokens - 1) / kPageTokens);
  const size_t had = pages_.size();
  while (pages_.size() < wanted) {
    std::byte* page = pool_->allocate();
    if (page == nullptr) {
      const int64_t limit = pool_->budget_bytes();
      for (; pages_.size() > had; pages_.pop_back()) pool_->release(pages_.back());
      return make_error("no memory for the cache of {} tokens (a page for {} of them takes {} bytes{})",
                        length, kPageTokens, pool_->layout().page_bytes,
                        limit > 0 ? fmt::format(", {} bytes allowed for all sequences", limit) : "");
    }
    pages_.push_back(page);
  }
  length_ = length;
  return {};
}

void SequenceCache::truncate(int64_t length) {
  if (length >= length_) return;
  const auto keep = static_cast<size_t>((length + kPageTokens - 1) / kPageTokens);
  for (; pages_.size() > keep; pages_.pop_back()) pool_->release(pages_.back());
  length_ = length;
}

}  // namespace indexshare
