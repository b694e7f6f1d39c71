// Which pages the cache held once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_set>

namespace indexshare {

/// The hash of tokens behind others that have the hash `before`; that is 0 where there are none.
uint64_t hash_tokens(uint64_t before, std::span<const int32_t> tokens);

/// Remembers pages that were given up by hashes of their tokens and all before them, the latest 65,536:
/// enough to tell why a prompt was not in the cache, not to rely on.
class EvictedPages {
 public:
  /// `before` is the hash of all tokens before the page.
  void add(uint64_t before, std::span<const int32_t> page);

  /// Whether a page was given up that had more than the first `common` of `tokens`, which follow those of
  /// `before`. It is known in steps: 16, 64 or 256 tokens.
  bool had_more(uint64_t before, std::span<const int32_t> tokens, int64_t common) const;

 private:
  std::unordered_set<uint64_t> hashes_;
  std::deque<uint64_t> by_age_;
};

}  // namespace indexshare
