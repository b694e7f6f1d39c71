// What the kernels that score index keys are given.
#pragma once

#include <cstdint>

#include "cache/layout.h"

namespace indexshare::cpu {

/// Keys of the index cache come in blocks of 16 tokens (cache/layout.h).
inline constexpr int64_t kIndexBlock = kIndexBlockTokens;

/// One token's index queries against consecutive blocks of keys (cache/layout.h).
template <typename Query, typename Key>
struct IndexArgs {
  const Query* q;  // [heads, dim]
  const float* w;  // [heads]
  int64_t heads, dim;
  const Key* keys;  // [blocks] of [dim / 2][16][2]
  int64_t blocks;
  float* scores;              // [blocks * 16]
  const Key* next = nullptr;  // the keys that will be read after these, if known
};

/// The same for keys in int8.
struct Int8IndexArgs {
  const int8_t* q;        // [heads, dim], dim a multiple of 4, values in [-127, 127]
  const int32_t* q_sums;  // [heads] the sum of a query's values
  const float* w;         // [heads], the scales of the queries included
  int64_t heads, dim;
  const int8_t* keys;   // [blocks] of [dim / 4][16][4]
  const float* scales;  // [blocks * 16]
  int64_t blocks;
  float* scores;  // [blocks * 16]
  const int8_t* next = nullptr;
};

}  // namespace indexshare::cpu
