#include "cache/prefix_index.h"

#include <algorithm>

namespace indexshare {
namespace {

int64_t common_length(std::span<const int32_t> a, std::span<const int32_t> b) {
  return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
}

}  // namespace

PrefixIndex::PrefixIndex(PagePool& pool) : pool_(pool) {
  pool_.set_reclaimer([this] { return evict(); });
}

PrefixIndex::~PrefixIndex() {
  pool_.set_reclaimer({});
  clear();
}

void PrefixIndex::clear() {
  for (Node* node : by_use_) {
    gone_.add(node->parent->hash, node->tokens);
    pool_.release(node->page);
  }
  by_use_.clear();
  root_->next.clear();
}

PrefixIndex::Path PrefixIndex::find(std::span<const int32_t> tokens) const {
  Path path{.node = root_.get()};
  while (true) {
    const auto rest = tokens.subspan(static_cast<size_t>(path.length));
    path.partial = nullptr;
    path.common = 0;
    for (const auto& next : path.node->next) {
      const int64_t common = common_length(next->tokens, rest);
      if (common > path.common) {
        path.partial = next.get();
        path.common = common;
      }
    }
    if (path.common < kPageTokens) return path;
    path.node = path.partial;
    path.length += kPageTokens;
  }
}

int64_t PrefixIndex::match(std::span<const int32_t> tokens) const {
  const Path path = find(tokens);
  return path.length + path.common;
}

PrefixEnd PrefixIndex::match_end(std::span<const int32_t> tokens) const {
  const Path path = find(tokens);
  const int64_t length = path.length + path.common;
  if (length + 1 >= std::ssize(tokens)) return PrefixEnd::whole;
  if (gone_.had_more(path.node->hash, tokens.subspan(static_cast<size_t>(path.length)), path.common)) {
    return PrefixEnd::evicted;
  }
  if (length == 0) return PrefixEnd::nothing;
  const bool ended =
      path.partial != nullptr ? path.common == std::ssize(path.partial->tokens) : path.node->next.empty();
  return ended ? PrefixEnd::ended : PrefixEnd::differs;
}

SequenceCache PrefixIndex::attach(std::span<const int32_t> tokens) {
  const Path path = find(tokens);
  Node* last = path.partial != nullptr ? path.partial : path.node;
  std::vector<std::byte*> pages;
  for (Node* node = last; node != root_.get(); node = node->parent) pages.push_back(node->page);
  std::reverse(pages.begin(), pages.end());
  touch(last);
  return SequenceCache(pool_, pages, path.length + path.common);
}

void PrefixIndex::insert(std::span<const int32_t> tokens, const SequenceCache& cache, bool ended) {
  const auto known = tokens.first(static_cast<size_t>(cache.length()));
  Path path = find(known);
  Node* node = path.node;
  while (path.length < std::ssize(known)) {
    const auto begin = known.begin() + path.length;
    const int64_t count = std::min(kPageTokens, std::ssize(known) - path.length);
    if (count < kPageTokens && (!ended || path.common == count)) break;
    std::byte* page = cache.pages()[static_cast<size_t>(path.length / kPageTokens)];
    Node* child = path.partial;
    if (child != nullptr && path.common == std::ssize(child->tokens)) {  // it goes on here: ours says more
      pool_.release(child->page);
    } else {
      child = node->next.emplace_back(std::make_unique<Node>()).get();
      child->parent = node;
      child->use = by_use_.insert(by_use_.end(), child);
    }
    pool_.hold(page);
    child->page = page;
    child->tokens.assign(begin, begin + count);
    child->hash = hash_tokens(node->hash, child->tokens);
    node = child;
    path = {.node = node, .length = path.length + count};
  }
  touch(node);
}

int64_t PrefixIndex::unused_pages() const {
  return std::count_if(by_use_.begin(), by_use_.end(),
                       [this](const Node* node) { return !pool_.is_shared(node->page); });
}

// From the node to the root, so that what follows others is found before them.
void PrefixIndex::touch(Node* node) {
  for (; node != root_.get(); node = node->parent) by_use_.splice(by_use_.end(), by_use_, node->use);
}

void PrefixIndex::tell(const Node* node, const Evicted& use) const {
  std::vector<const Node*> path;
  for (const Node* at = node; at != root_.get(); at = at->parent) path.push_back(at);
  std::vector<int32_t> tokens;
  tokens.reserve(path.size() * static_cast<size_t>(kPageTokens));
  for (size_t i = path.size(); i-- > 0;) {
    tokens.insert(tokens.end(), path[i]->tokens.begin(), path[i]->tokens.end());
  }
  use(tokens, {node->page, static_cast<size_t>(pool_.layout().page_bytes)});
}

void PrefixIndex::for_each_kept(int64_t count, const Evicted& use) const {
  std::vector<const Node*> latest;
  for (auto at = by_use_.rbegin(); at != by_use_.rend() && std::ssize(latest) < count; ++at) {
    if (std::ssize((*at)->tokens) == kPageTokens) latest.push_back(*at);
  }
  for (size_t i = latest.size(); i-- > 0;) tell(latest[i], use);
}

// Frees the page that was of no use for longest among those that nothing follows and no sequence holds.
bool PrefixIndex::evict() {
  const auto found = std::find_if(by_use_.begin(), by_use_.end(), [this](const Node* node) {
    return node->next.empty() && !pool_.is_shared(node->page);
  });
  if (found == by_use_.end()) return false;
  Node* node = *found;
  if (evicted_ && std::ssize(node->tokens) == kPageTokens) tell(node, evicted_);
  gone_.add(node->parent->hash, node->tokens);
  pool_.release(node->page);
  by_use_.erase(found);
  Nodes& siblings = node->parent->next;
  siblings.erase(std::find_if(siblings.begin(), siblings.end(),
                              [node](const std::unique_ptr<Node>& other) { return other.get() == node; }));
  return true;
}

}  // namespace indexshare
