// Token ids, the names that tokenizer.json gives them, and the bytes they stand for; flat arrays throughout.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "indexshare/result.h"

namespace indexshare {

/// A name written in the byte-level alphabet (see byte_level.h) stands for the bytes it spells, any other
/// name for itself: what the reference's ByteLevel decoder makes of it.
class Vocabulary {
 public:
  static constexpr int32_t kMaxTokens = 1 << 22;

  /// Room for about `tokens` names.
  explicit Vocabulary(size_t tokens = 0);

  enum class Kind : uint8_t {
    model,  // one that the model may come upon by itself
    added,  // one that is found by its name before the model sees the text
  };

  /// Adds a token; an error (without a source) if the id is out of range or taken, or the name is.
  Result<void> add(std::string_view name, int64_t id, Kind kind);

  std::optional<int32_t> find(std::string_view name) const;

  /// The model's token whose name spells `bytes`.
  std::optional<int32_t> find_bytes(std::string_view bytes) const;

  bool contains(int64_t id) const { return id >= 0 && id < size() && entries_[id].is_used; }

  /// Empty for an id that no token has.
  std::string_view bytes(int32_t id) const;

  std::string name(int32_t id) const;

  /// One past the highest id.
  int64_t size() const { return static_cast<int64_t>(entries_.size()); }

 private:
  struct Entry {
    uint64_t offset = 0;  // into bytes_
    uint32_t length = 0;
    bool is_used = false;
    Kind kind = Kind::model;
    bool is_spelled = false;  // the name is the spelling of the bytes, rather than the bytes themselves
  };

  std::optional<int32_t> look_up(std::string_view bytes, bool is_spelled) const;
  size_t slot(std::string_view bytes, bool is_spelled) const;
  std::string_view bytes_of(const Entry& entry) const {
    return std::string_view(bytes_).substr(entry.offset, entry.length);
  }
  void grow(size_t tokens);

  std::string bytes_;           // of all tokens, one after another
  std::vector<Entry> entries_;  // by id
  std::vector<int32_t> slots_;  // open addressing by bytes; -1: free; the size is a power of two
  size_t used_ = 0;
};

}  // namespace indexshare
