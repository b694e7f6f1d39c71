#include "text/bpe.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <string>

#include "base/error.h"

namespace indexshare {

namespace {

bool occurs_in_utf8(int byte) {
  return byte != 0xc0 && byte != 0xc1 && byte < 0xf5;
}

uint64_t pair_key(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

}  // namespace

Result<Bpe> Bpe::create(const Vocabulary& vocabulary, bool ignore_merges, size_t merges) {
  Bpe bpe;
  bpe.ignore_merges_ = ignore_merges;
  for (int byte = 0; byte < 256; ++byte) {
    const char text = static_cast<char>(byte);
    const std::optional<int32_t> id = vocabulary.find_bytes({&text, 1});
    if (!id && occurs_in_utf8(byte))
      return make_error("the vocabulary has no token for the byte 0x{:02x}", byte);
    bpe.byte_tokens_[static_cast<size_t>(byte)] = id.value_or(-1);
  }
  bpe.grow(merges);
  return bpe;
}

void Bpe::grow(size_t merges) {
  const std::vector<Merge> old = std::move(slots_);
  slots_.assign(std::bit_ceil(2 * merges + 16), {kFree, 0, 0});
  for (const Merge& merge : old) {
    if (merge.pair != kFree) slots_[slot(merge.pair)] = merge;
  }
}

size_t Bpe::slot(uint64_t pair) const {
  const size_t mask = slots_.size() - 1;
  size_t i = (pair * 0x9e3779b97f4a7c15u >> 32) & mask;
  while (slots_[i].pair != pair && slots_[i].pair != kFree) i = (i + 1) & mask;
  return i;
}

const Bpe::Merge* Bpe::find(int32_t left, int32_t right) const {
  const Merge& merge = slots_[slot(pair_key(left, right))];
  return merge.pair == kFree ? nullptr : &merge;
}

Result<void> Bpe::add_merge(const Vocabulary& vocabulary, std::string_view left, std::string_view right) {
  const std::optional<int32_t> left_id = vocabulary.find(left);
  const std::optional<int32_t> right_id = vocabulary.find(right);
  const std::string whole = std::string(left).append(right);
  const std::optional<int32_t> whole_id = vocabulary.find(whole);
  const std::string_view missing = !left_id ? left : !right_id ? right : whole;
  if (!left_id || !right_id || !whole_id) {
    return make_error("the merge of \"{}\" and \"{}\" needs the token \"{}\", which the vocabulary lacks",
                      left, right, missing);
  }
  if (2 * (used_ + 1) > slots_.size()) grow(2 * used_);
  const uint64_t pair = pair_key(*left_id, *right_id);
  Merge& merge = slots_[slot(pair)];
  if (merge.pair == kFree) ++used_;
  merge = {pair, next_rank_++, *whole_id};
  return {};
}

std::optional<uint64_t> Bpe::candidate(int32_t position, const Scratch& scratch) const {
  const Scratch::Symbol& left = scratch.symbols[position];
  if (left.next < 0) return std::nullopt;
  const Merge* merge = find(left.id, scratch.symbols[left.next].id);
  if (merge == nullptr) return std::nullopt;
  return static_cast<uint64_t>(merge->rank) << 32 | static_cast<uint32_t>(position);
}

void Bpe::consider(int32_t position, Scratch& scratch) const {
  if (const std::optional<uint64_t> found = candidate(position, scratch)) {
    scratch.heap.push_back(*found);
    std::push_heap(scratch.heap.begin(), scratch.heap.end(), std::greater());
  }
}

void Bpe::encode(const Vocabulary& vocabulary, std::string_view word, Scratch& scratch,
                 std::vector<int32_t>& ids) const {
  if (ignore_merges_) {
    if (const std::optional<int32_t> whole = vocabulary.find_bytes(word)) {
      ids.push_back(*whole);
      return;
    }
  }
  std::vector<Scratch::Symbol>& symbols = scratch.symbols;
  std::vector<uint64_t>& heap = scratch.heap;
  const int32_t length = static_cast<int32_t>(word.size());
  symbols.clear();
  heap.clear();
  for (int32_t i = 0; i < length; ++i) {
    symbols.push_back(
        {byte_tokens_[static_cast<unsigned char>(word[i])], i - 1, i + 1 < length ? i + 1 : -1});
  }
  for (int32_t i = 0; i + 1 < length; ++i) {
    if (const std::optional<uint64_t> found = candidate(i, scratch)) heap.push_back(*found);
  }
  std::make_heap(heap.begin(), heap.end(), std::greater());

  while (!heap.empty()) {  // lowest rank first, then leftmost
    std::pop_heap(heap.begin(), heap.end(), std::greater());
    const int32_t rank = static_cast<int32_t>(heap.back() >> 32);
    const int32_t position = static_cast<int32_t>(heap.back() & 0xffffffffu);
    heap.pop_back();
    ++scratch.steps;
    Scratch::Symbol& left = symbols[position];
    if (left.id < 0 || left.next < 0) continue;
    Scratch::Symbol& right = symbols[left.next];
    const Merge* merge = find(left.id, right.id);
    if (merge == nullptr || merge->rank != rank) continue;  // one of the two has merged since

    left.id = merge->merged;
    right.id = -1;
    left.next = right.next;
    if (left.next >= 0) symbols[left.next].previous = position;
    if (left.previous >= 0) consider(left.previous, scratch);
    consider(position, scratch);
  }
  for (int32_t i = 0; i >= 0 && i < length; i = symbols[i].next) ids.push_back(symbols[i].id);
}

}  // namespace indexshare
