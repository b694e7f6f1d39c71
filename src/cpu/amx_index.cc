// Index scores on AMX tiles.
#include <type_traits>

#include "cpu/amx_kernels.h"
#include "cpu/amx_tiles.h"

namespace indexshare::cpu {
namespace {

constexpr int64_t kInt8Depth = 64;  // values of int8 in a row of A

// Asks for the keys of the pair of blocks after the next one while a pair is scored, a few lines at a time:
// asked for all at once, they would hold up the loads of the tiles.
class KeysAhead {
 public:
  // `shares` is how often a pair asks.
  template <typename Args>
  KeysAhead(const Args& a, int64_t block_bytes, int64_t shares)
      : keys_(reinterpret_cast<const char*>(a.keys)),
        next_(reinterpret_cast<const char*>(a.next)),
        bytes_(a.blocks * block_bytes),
        pair_bytes_(2 * block_bytes),
        share_bytes_(round_up((pair_bytes_ + shares - 1) / shares, 64)) {}

  void pair(int64_t block) {
    const int64_t from = (block / 2 + 2) * pair_bytes_;
    at_ = from < bytes_ ? keys_ + from : next_ != nullptr ? next_ + (from - bytes_) : nullptr;
    end_ = at_ != nullptr ? at_ + pair_bytes_ : nullptr;
  }
  void ask() {
    if (at_ == nullptr) return;
    for (const char* share = at_ + share_bytes_; at_ < end_ && at_ < share; at_ += 64) {
      _mm_prefetch(at_, _MM_HINT_T0);
    }
  }

 private:
  const char *keys_, *next_;
  int64_t bytes_, pair_bytes_, share_bytes_;
  const char *at_ = nullptr, *end_ = nullptr;
};

// sum_h w[h] * relu(dots[h][key]) for one or two blocks of 16 keys; the dots stand as C tiles do.
template <typename T>
void add_heads(const float* w, int64_t heads, bool two, const T (&dots)[4][16][16], KeysAhead& ahead,
               __m512 (&sums)[2]) {
  for (int64_t i = 0; i < heads; ++i) {
    const __m512 weight = Avx512::set(w[i]);
    if (i % 2 == 0) ahead.ask();
    for (int v = 0; v < (two ? 2 : 1); ++v) {
      const T* line = dots[2 * (i / kTileRows) + v][i % kTileRows];
      __m512 dot;
      if constexpr (std::is_same_v<T, float>) {
        dot = Avx512::load(line);
      } else {
        dot = Avx512::to_float(_mm512_load_si512(line));
      }
      // max(0, dot) in this order of operands: a NaN stays one
      sums[v] = Avx512::fma(weight, Avx512::max(Avx512::zero(), dot), sums[v]);
    }
  }
}

}  // namespace

namespace amx {

void index_scores(const IndexArgs<bf16, bf16>& a) {
  Tiles tiles;
  const int64_t block_values = a.dim * kIndexBlock;
  alignas(64) float dots[4][16][16];
  KeysAhead ahead(a, block_values * 2, a.heads);  // half with the tiles, half with the heads
  for (int64_t b = 0; b < a.blocks; b += 2) {
    const bool two = b + 1 < a.blocks;
    const bf16* block = a.keys + b * block_values;
    __m512 sums[2] = {Avx512::zero(), Avx512::zero()};
    ahead.pair(b);
    for (int64_t h = 0; h < a.heads; h += 2 * kTileRows) {
      const bool more = h + kTileRows < a.heads;
      tiles.shape(kTileRows, more ? kTileRows : 0, kTileRows, two ? kTileRows : 0);
      zero_sums(more, two);
      for (int64_t k = 0; k < a.dim; k += kTileDepth) {
        const bf16* rows = a.q + h * a.dim + k;
        for (int i = 0; i < 4; ++i) ahead.ask();
        multiply({.a = {rows, more ? rows + kTileRows * a.dim : nullptr},
                  .a_stride = a.dim * 2,
                  .b = {block + k * kIndexBlock, two ? block + block_values + k * kIndexBlock : nullptr},
                  .b_stride = {kTileBytes, kTileBytes}});
      }
      store_tiles(&dots[0][0][0], more, two);
      add_heads(a.w + h, more ? 2 * kTileRows : kTileRows, two, dots, ahead, sums);
    }
    Avx512::store(a.scores + b * kIndexBlock, sums[0]);
    if (two) Avx512::store(a.scores + (b + 1) * kIndexBlock, sums[1]);
  }
}

bool supports_int8(const Int8IndexArgs& a) {
  return a.dim % kInt8Depth == 0 && a.heads % (2 * kTileRows) == 0;
}

// Keys in int8: a tile of A holds 16 heads by 64 values, one of B 16 quads of values by 16 keys.
void index_scores_int8(const Int8IndexArgs& a) {
  Tiles tiles;
  const int64_t block_values = a.dim * kIndexBlock;
  alignas(64) int32_t dots[4][16][16];
  KeysAhead ahead(a, block_values, a.heads);
  for (int64_t b = 0; b < a.blocks; b += 2) {
    const bool two = b + 1 < a.blocks;
    const int8_t* block = a.keys + b * block_values;
    __m512 sums[2] = {Avx512::zero(), Avx512::zero()};
    ahead.pair(b);
    tiles.shape(kTileRows, kTileRows, kTileRows, two ? kTileRows : 0);
    for (int64_t h = 0; h < a.heads; h += 2 * kTileRows) {
      zero_sums(true, two);
      for (int64_t k = 0; k < a.dim; k += kInt8Depth) {
        const int8_t* rows = a.q + h * a.dim + k;
        const int8_t* keys = block + k * kIndexBlock;
        for (int i = 0; i < 8; ++i) ahead.ask();
        __asm__ volatile("" ::: "memory");  // as in multiply()
        _tile_loadd(4, rows, static_cast<size_t>(a.dim));
        _tile_loadd(5, rows + kTileRows * a.dim, static_cast<size_t>(a.dim));
        _tile_loadd(6, keys, kTileBytes);
        _tile_dpbssd(0, 4, 6);
        _tile_dpbssd(2, 5, 6);
        if (!two) continue;
        _tile_loadd(7, keys + block_values, kTileBytes);
        _tile_dpbssd(1, 4, 7);
        _tile_dpbssd(3, 5, 7);
      }
      store_tiles(&dots[0][0][0], true, two);
      add_heads(a.w + h, 2 * kTileRows, two, dots, ahead, sums);
    }
    for (int v = 0; v < (two ? 2 : 1); ++v) {
      const int64_t key = (b + v) * kIndexBlock;
      Avx512::store(a.scores + key, Avx512::mul(Avx512::load(a.scales + key), sums[v]));
    }
  }
}

}  // namespace amx
}  // namespace indexshare::cpu
