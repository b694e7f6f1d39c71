// How the backend cuts its work: what the operations and the plan of their memory have to agree on.
#pragma once

#include <cstdint>

namespace indexshare::cpu {

// index.cc
/// Tokens of a prefill chunk that go over a step of keys together, while it is in the first-level cache.
inline constexpr int64_t kIndexGroupRows = 8;

// attention.cc
/// Tokens of one head that go against kv_b_proj together.
inline constexpr int64_t kHeadRows = 128;
/// Cache rows gathered at a time: 147 KiB of f32 at GLM-5.2's width.
inline constexpr int64_t kGatheredRows = 64;
/// Heads of one token in one work item: those that share gathered rows, or a multiple of them on a matrix
/// unit.
inline constexpr int64_t kVectorHeads = 16, kUnitHeads = 64;

// experts.cc
/// Slots, pairs of a token and an expert, that go against a tile together; a multiple of kPackRows.
inline constexpr int64_t kBlockSlots = 256;
/// Rows of an MLP's matrix in one work item: larger tiles where many slots share what of them is in the
/// caches.
constexpr int64_t mlp_tile(int64_t slots) {
  return slots >= 64 ? 128 : 64;
}

}  // namespace indexshare::cpu
