// How one page of the cache is laid out. A page holds kPageTokens consecutive tokens of one sequence, for
// every layer: the latent rows (MODEL: c and k_r, the rope already applied) of all layers, and the index keys
// of the full layers alone, since shared layers own none.
#pragma once

#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "indexshare/options.h"

namespace indexshare {

// Long enough for a layer's index keys, 64 KiB in bf16, to be read nearly as fast as one run without end.
inline constexpr int64_t kPageTokens = 256;
/// Pages that so many tokens take.
constexpr int64_t pages_for(int64_t tokens) {
  return (tokens + kPageTokens - 1) / kPageTokens;
}

inline constexpr int64_t kIndexBlockTokens = 16;  // index keys are interleaved by blocks of this many tokens

struct CacheLayout {
  DType dtype = DType::bf16;  // f32 or bf16
  IndexKeys index_keys = IndexKeys::plain;
  int64_t latent_width = 0;     // values of a latent row: kv_lora_rank + qk_rope_head_dim
  int64_t index_width = 0;      // values of an index key: index_head_dim
  std::vector<int> index_slot;  // [layers] which index-key area a layer owns, -1 for a shared layer
  int64_t page_bytes = 0;

  /// `full[layer]` says which layers own index keys.
  CacheLayout(DType dtype, int64_t latent_width, int64_t index_width, const std::vector<bool>& full,
              IndexKeys index_keys = IndexKeys::plain);

  int64_t layers() const { return static_cast<int64_t>(index_slot.size()); }
  int64_t latent_row_bytes() const { return latent_width * dtype_bytes(dtype); }

  /// Bytes from the start of a page to a layer's rows: [kPageTokens][latent_width].
  int64_t latent_offset(int64_t layer) const { return layer * kPageTokens * latent_row_bytes(); }

  /// Bytes from the start of a page to a full layer's keys: [kPageTokens / 16] blocks.
  int64_t index_offset(int64_t layer) const {
    return latent_offset(layers()) + index_slot[static_cast<size_t>(layer)] * index_area_bytes();
  }

  /// Values of one block: keys are stored by pairs of values, [index_width / 2][16 tokens][2], which is what
  /// the dot instructions over pairs read; an odd width is padded with a zero.
  int64_t index_block_values() const { return (index_width + 1) / 2 * 2 * kIndexBlockTokens; }
  int64_t plain_keys_bytes() const {
    if (index_keys == IndexKeys::int8) return 0;
    return kPageTokens / kIndexBlockTokens * index_block_values() * dtype_bytes(dtype);
  }

  /// Bytes of a block of keys in int8, [index_width / 4][16 tokens][4], padded with zeros.
  int64_t int8_block_bytes() const { return (index_width + 3) / 4 * 4 * kIndexBlockTokens; }
  int64_t int8_keys_bytes() const {
    return index_keys == IndexKeys::plain ? 0 : kPageTokens / kIndexBlockTokens * int8_block_bytes();
  }

  /// An area is made of the plain keys, the keys in int8, and what Int8Keys says of each.
  int64_t index_area_bytes() const {
    const int64_t values = index_keys == IndexKeys::plain ? 0 : index_keys == IndexKeys::int8 ? 1 : 3;
    return plain_keys_bytes() + int8_keys_bytes() + values * kPageTokens * int64_t{sizeof(float)};
  }

  /// Bytes that one token takes: latent rows, and index keys.
  int64_t latent_bytes_per_token() const { return layers() * latent_row_bytes(); }
  int64_t index_bytes_per_token() const { return (page_bytes - latent_offset(layers())) / kPageTokens; }
};

/// Where value i of the key of token s of a block stands.
inline int64_t index_key_offset(int64_t s, int64_t i) {
  return (i / 2 * kIndexBlockTokens + s) * 2 + i % 2;
}

/// The same for a key in int8.
inline int64_t int8_key_offset(int64_t s, int64_t i) {
  return (i / 4 * kIndexBlockTokens + s) * 4 + i % 4;
}

/// Index keys in int8, from the first of a block to the last of its page: key s is scales[s] * keys[s].
struct Int8Keys {
  int8_t* keys;  // blocks of 16
  float* scales;
  float* norms;   // bounds of the lengths of the plain keys; null unless screened
  float* errors;  // bounds of their distances from the keys in int8; null unless screened
};

}  // namespace indexshare
