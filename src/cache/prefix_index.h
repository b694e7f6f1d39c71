// Which beginnings of sequences are in the cache already: a tree of pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "cache/evicted_pages.h"
#include "cache/sequence.h"
#include "indexshare/generation.h"

namespace indexshare {

/// Keeps pages of sequences that were run for those that begin with the same tokens. A node of the tree is a
/// page: the tokens that it holds and, where it is full, the pages that have followed it. What a token's rows
/// are depends on the tokens before it alone, so a path from the root can serve any sequence that begins with
/// its tokens. When the pool has no page left, it takes back what was of no use for longest.
class PrefixIndex {
 public:
  explicit PrefixIndex(PagePool& pool);
  ~PrefixIndex();
  PrefixIndex(const PrefixIndex&) = delete;
  PrefixIndex& operator=(const PrefixIndex&) = delete;

  /// A cache of the longest beginning of `tokens` that is here.
  SequenceCache attach(std::span<const int32_t> tokens);

  /// How many tokens attach() would find.
  int64_t match(std::span<const int32_t> tokens) const;

  /// Why no more: never PrefixEnd::unused.
  PrefixEnd match_end(std::span<const int32_t> tokens) const;

  /// Keeps the pages of `cache`, which holds the rows of the first of `tokens`; those that are not full too
  /// where the sequence has ended.
  void insert(std::span<const int32_t> tokens, const SequenceCache& cache, bool ended);

  /// Told of each full page that is given back because the pool has no other left, while it still holds what
  /// it held: `tokens` are those of the sequence up to its end.
  using Evicted = std::function<void(std::span<const int32_t> tokens, std::span<const std::byte> page)>;
  void set_evicted(Evicted evicted) { evicted_ = std::move(evicted); }

  /// Calls `use` with the full pages of use lately, at most `count`, the latest last.
  void for_each_kept(int64_t count, const Evicted& use) const;

  /// Lets go of all pages.
  void clear();

  int64_t pages() const { return std::ssize(by_use_); }

  /// Of these, the pages that no sequence holds.
  int64_t unused_pages() const;

 private:
  struct Node;
  using Nodes = std::vector<std::unique_ptr<Node>>;
  struct Node {
    Node* parent = nullptr;
    std::vector<int32_t> tokens;  // up to kPageTokens; fewer only where nothing follows
    uint64_t hash = 0;            // of all tokens up to the page's end
    std::byte* page = nullptr;
    Nodes next;
    std::list<Node*>::iterator use;
  };

  /// The deepest node all of whose tokens `tokens` begins with after those before it, or the root; `length`
  /// counts the tokens up to its end. `partial`, where it is not null: the node after that with the most
  /// tokens in common.
  struct Path {
    Node* node = nullptr;
    int64_t length = 0;
    Node* partial = nullptr;
    int64_t common = 0;  // of partial's tokens
  };
  Path find(std::span<const int32_t> tokens) const;

  void touch(Node* node);
  bool evict();
  void tell(const Node* node, const Evicted& use) const;

  PagePool& pool_;
  Evicted evicted_;
  EvictedPages gone_;
  std::unique_ptr<Node> root_ = std::make_unique<Node>();
  std::list<Node*> by_use_;  // the latest last; a node before those that it follows
};

}  // namespace indexshare
