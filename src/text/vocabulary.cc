#include "text/vocabulary.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

#include "base/error.h"
#include "text/byte_level.h"

namespace indexshare {

Vocabulary::Vocabulary(size_t tokens) {
  entries_.reserve(std::min<size_t>(tokens, kMaxTokens));
  bytes_.reserve(8 * entries_.capacity());
  grow(entries_.capacity());
}

void Vocabulary::grow(size_t tokens) {
  slots_.assign(std::bit_ceil(2 * tokens + 16), -1);
  for (size_t id = 0; id < entries_.size(); ++id) {
    const Entry& entry = entries_[id];
    if (entry.is_used) slots_[slot(bytes_of(entry), entry.is_spelled)] = static_cast<int32_t>(id);
  }
}

/// Where the token with these bytes stands, or the free slot where it would.
size_t Vocabulary::slot(std::string_view bytes, bool is_spelled) const {
  const size_t mask = slots_.size() - 1;
  size_t i = (std::hash<std::string_view>()(bytes) ^ (is_spelled ? 0 : 0x9e3779b9u)) & mask;
  for (; slots_[i] >= 0; i = (i + 1) & mask) {
    const Entry& entry = entries_[slots_[i]];
    if (entry.is_spelled == is_spelled && bytes_of(entry) == bytes) break;
  }
  return i;
}

Result<void> Vocabulary::add(std::string_view name, int64_t id, Kind kind) {
  if (id < 0 || id >= kMaxTokens) {
    return make_error("the token \"{}\" has the id {}, expected 0 to {}", name, id, kMaxTokens - 1);
  }
  if (contains(id)) {
    return make_error("the tokens \"{}\" and \"{}\" have the same id {}",
                      this->name(static_cast<int32_t>(id)), name, id);
  }
  if (name.size() > std::numeric_limits<uint32_t>::max()) {
    return make_error("the token with id {} has {} bytes, which is too many", id, name.size());
  }
  Entry entry = {.offset = bytes_.size(), .is_used = true, .kind = kind};
  entry.is_spelled = append_spelled_bytes(name, bytes_);
  if (!entry.is_spelled) bytes_ += name;
  entry.length = static_cast<uint32_t>(bytes_.size() - entry.offset);

  if (2 * (used_ + 1) > slots_.size()) grow(2 * used_);
  const size_t i = slot(bytes_of(entry), entry.is_spelled);
  if (slots_[i] >= 0) {
    bytes_.resize(entry.offset);
    return make_error("the token \"{}\" has two ids, {} and {}", name, slots_[i], id);
  }
  if (id >= size()) entries_.resize(static_cast<size_t>(id) + 1);
  entries_[id] = entry;
  slots_[i] = static_cast<int32_t>(id);
  ++used_;
  return {};
}

std::optional<int32_t> Vocabulary::look_up(std::string_view bytes, bool is_spelled) const {
  const int32_t id = slots_[slot(bytes, is_spelled)];
  return id < 0 ? std::nullopt : std::optional(id);
}

std::optional<int32_t> Vocabulary::find(std::string_view name) const {
  std::string bytes;
  return append_spelled_bytes(name, bytes) ? look_up(bytes, true) : look_up(name, false);
}

std::optional<int32_t> Vocabulary::find_bytes(std::string_view bytes) const {
  const std::optional<int32_t> id = look_up(bytes, true);
  return id && entries_[*id].kind == Kind::model ? id : std::nullopt;
}

std::string_view Vocabulary::bytes(int32_t id) const {
  return contains(id) ? bytes_of(entries_[id]) : std::string_view();
}

std::string Vocabulary::name(int32_t id) const {
  if (!contains(id)) return {};
  return entries_[id].is_spelled ? spell_bytes(bytes(id)) : std::string(bytes(id));
}

}  // namespace indexshare
