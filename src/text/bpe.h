// Byte-pair encoding: a word's bytes, merged pair by pair in the order the model learnt.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "indexshare/result.h"
#include "text/vocabulary.h"

namespace indexshare {

class Bpe {
 public:
  /// Needs a token for every byte that occurs in UTF-8. `merges` is about how many will be added.
  static Result<Bpe> create(const Vocabulary& vocabulary, bool ignore_merges, size_t merges);

  /// Adds the next merge in rank (a pair added again moves to the later rank, as in the reference); an
  /// error (without a source) if a part or the whole is no token.
  Result<void> add_merge(const Vocabulary& vocabulary, std::string_view left, std::string_view right);

  /// What encode() needs beside the model; kept by the caller so that words share its memory.
  struct Scratch {
    struct Symbol {
      int32_t id;        // -1: merged into the one before
      int32_t previous;  // positions, -1: none
      int32_t next;
    };
    std::vector<Symbol> symbols;
    std::vector<uint64_t> heap;  // candidates: rank << 32 | position of the left symbol
    int64_t steps = 0;           // candidates looked at so far: the work done
  };

  /// Appends the ids of a word (valid UTF-8, fewer than 2^31 bytes): n log n in its length.
  void encode(const Vocabulary& vocabulary, std::string_view word, Scratch& scratch,
              std::vector<int32_t>& ids) const;

 private:
  struct Merge {
    uint64_t pair;  // left id << 32 | right id; kFree: none
    int32_t rank;
    int32_t merged;
  };
  static constexpr uint64_t kFree = ~uint64_t{0};

  size_t slot(uint64_t pair) const;
  const Merge* find(int32_t left, int32_t right) const;
  void grow(size_t merges);
  /// Whether the symbol at `position` and the one behind it may merge; if so, the candidate.
  std::optional<uint64_t> candidate(int32_t position, const Scratch& scratch) const;
  void consider(int32_t position, Scratch& scratch) const;

  std::array<int32_t, 256> byte_tokens_{};  // -1: none
  std::vector<Merge> slots_;                // open addressing; the size is a power of two
  size_t used_ = 0;
  int32_t next_rank_ = 0;
  bool ignore_merges_ = false;
};

}  // namespace indexshare
