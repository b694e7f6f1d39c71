// A language made for finding needles: records of a key and a value, one after another. A record is seven
// tokens, one of each role in order; a question is the two tokens of a key, its answer the value and the end.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "indexshare/engine.h"

namespace indexshare::needle {

inline constexpr int64_t kKeyTokens = 2, kValueTokens = 4;
inline constexpr int64_t kRecordTokens = kKeyTokens + kValueTokens + 1;

/// A token's role is its place in a record. Each has a word of its own kWords; the end stands alone.
inline constexpr int64_t kRoles = kRecordTokens, kEndRole = kRoles - 1;
inline constexpr int64_t kWords = 512;

constexpr int32_t token_id(int64_t role, int64_t word) {
  return static_cast<int32_t>(role * kWords + word);
}
inline constexpr int32_t kEndToken = token_id(kEndRole, 0);
inline constexpr int64_t kVocab = kEndToken + 1;

struct Record {
  std::array<int32_t, kKeyTokens> key;
  std::array<int32_t, kValueTokens> value;
};

/// Record `i` of [0, kRecords): no two have the same key; values are drawn.
inline constexpr int64_t kRecords = kWords * kWords;
Record record(int64_t i);

/// The first `tokens` tokens of all records one after another, in order of their numbers.
std::vector<int32_t> haystack(int64_t tokens);

/// The number of the record at `percent` of the way through those that are whole within `tokens` tokens.
int64_t record_at_depth(int64_t tokens, int percent);

/// Asks for a record's value behind the haystack, greedily. What the engine has read of it is not read again.
Result<GenerationResult> ask(Engine& engine, const std::vector<int32_t>& haystack, const Record& record);

/// Whether these ids are the record's value and the end.
bool is_answer(std::span<const int32_t> ids, const Record& record);

}  // namespace indexshare::needle
