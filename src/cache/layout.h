// How one page of the cache is laid out. A page holds kPageTokens consecutive tokens of one sequence, for
// every layer: the latent rows (MODEL: c and k_r, the rope already applied) of all layers, and the index keys
// of the full layers alone, since shared layers own none.
#pragma once

#include <cstdint>
#include <vector>

#include "base/dtype.h"

namespace indexshare {

inline constexpr int64_t kPageTokens = 64;
inline constexpr int64_t kIndexBlockTokens = 16;  // index keys are interleaved by blocks of this many tokens

struct CacheLayout {
  DType dtype = DType::bf16;    // f32 or bf16
  int64_t latent_width = 0;     // values of a latent row: kv_lora_rank + qk_rope_head_dim
  int64_t index_width = 0;      // values of an index key: index_head_dim
  std::vector<int> index_slot;  // [layers] which index-key area a layer owns, -1 for a shared layer
  int64_t page_bytes = 0;

  /// `full[layer]` says which layers own index keys.
  CacheLayout(DType dtype, int64_t latent_width, int64_t index_width, const std::vector<bool>& full);

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
  int64_t index_area_bytes() const {
    return kPageTokens / kIndexBlockTokens * index_block_values() * dtype_bytes(dtype);
  }

  /// Bytes that one token takes: latent rows, and index keys.
  int64_t latent_bytes_per_token() const { return layers() * latent_row_bytes(); }
  int64_t index_bytes_per_token() const { return (page_bytes - latent_offset(layers())) / kPageTokens; }
};

/// Where value i of the key of token s of a block stands.
inline int64_t index_key_offset(int64_t s, int64_t i) {
  return (i / 2 * kIndexBlockTokens + s) * 2 + i % 2;
}

}  // namespace indexshare
