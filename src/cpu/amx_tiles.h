// What the AMX kernels share: the tile registers, and values as tiles want them. To be included only by files
// that are compiled for AMX.
//
// A tile instruction multiplies 16 rows of A (32 values each) by 16 columns of B (stored by pairs of values,
// [16 pairs][16 columns][2]) and adds to 16 x 16 sums in f32, pair after pair. Rows of A and columns of B do
// not touch one another, so that a sum is the same whatever stands beside it.
#pragma once

#include <cstring>

#include "cpu/bf16_pairs.h"

namespace indexshare::cpu {
namespace {

constexpr int64_t kTileRows = 16;
constexpr int64_t kTileBytes = 64;                // of a row
constexpr int64_t kTile = kTileRows * kTileRows;  // values of one C
constexpr int64_t kSums = 4 * kTile;              // of the four that are in use together

// Up to 32 rows or columns as those of one tile and of the one behind it.
struct TwoTiles {
  int64_t first, second;

  explicit TwoTiles(int64_t left)
      : first(at_most(left, kTileRows)), second(at_most(left - first, kTileRows)) {}
  bool both() const { return second > 0; }
  int64_t count() const { return first + second; }
};

// The tile registers: sums C[a][b] = 0 + 2 a + b, A[a] = 4 + a, B[b] = 6 + b.
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

// Owns the tile registers from construction to destruction. A[a] has rows[a] rows, B[b] has cols[b] columns.
class Tiles {
 public:
  Tiles() = default;
  ~Tiles() { _tile_release(); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;

  void shape(int64_t rows0, int64_t rows1, int64_t cols0, int64_t cols1) {
    const int64_t wanted[4] = {rows0, rows1, cols0, cols1};
    if (std::memcmp(wanted, shape_, sizeof(shape_)) == 0) return;
    std::memcpy(shape_, wanted, sizeof(shape_));
    TileConfig config;
    auto set = [&](int tile, int64_t rows, int64_t bytes) {
      config.rows[tile] = static_cast<uint8_t>(rows);
      config.row_bytes[tile] = static_cast<uint16_t>(bytes);
    };
    for (int a = 0; a < 2; ++a) {
      if (wanted[a] == 0) continue;
      set(4 + a, wanted[a], kTileBytes);
      for (int b = 0; b < 2; ++b) {
        if (wanted[2 + b] > 0) set(2 * a + b, wanted[a], wanted[2 + b] * 4);
      }
    }
    for (int b = 0; b < 2; ++b) {
      if (wanted[2 + b] > 0) set(6 + b, kTileRows, wanted[2 + b] * 4);
    }
    __asm__ volatile("" : : "m"(config));  // gcc 12 takes only its first bytes to be read
    _tile_loadconfig(&config);
  }

 private:
  int64_t shape_[4] = {};
};

// One tile of depth 32: where A[a] and B[b] stand and how far apart their rows are. Null: not there.
struct Operands {
  const bf16* a[2];
  int64_t a_stride;  // bytes
  const bf16* b[2];
  int64_t b_stride[2];  // bytes
};

inline void multiply(const Operands& o) {
  __asm__ volatile("" ::: "memory");  // gcc 12 does not know that loading a tile reads memory
  const auto a_stride = static_cast<size_t>(o.a_stride);
  _tile_loadd(4, o.a[0], a_stride);
  _tile_loadd(6, o.b[0], static_cast<size_t>(o.b_stride[0]));
  _tile_dpbf16ps(0, 4, 6);
  if (o.a[1] != nullptr) {
    _tile_loadd(5, o.a[1], a_stride);
    _tile_dpbf16ps(2, 5, 6);
  }
  if (o.b[1] != nullptr) {
    _tile_loadd(7, o.b[1], static_cast<size_t>(o.b_stride[1]));
    _tile_dpbf16ps(1, 4, 7);
    if (o.a[1] != nullptr) _tile_dpbf16ps(3, 5, 7);
  }
}

inline void zero_sums(bool two_a, bool two_b) {
  _tile_zero(0);
  if (two_b) _tile_zero(1);
  if (two_a) _tile_zero(2);
  if (two_a && two_b) _tile_zero(3);
}

// The sums in use, one C after another.
template <typename T>
inline void store_tiles(T* sums, bool two_a, bool two_b) {
  _tile_stored(0, sums, kTileBytes);
  if (two_b) _tile_stored(1, sums + kTile, kTileBytes);
  if (two_a) _tile_stored(2, sums + 2 * kTile, kTileBytes);
  if (two_a && two_b) _tile_stored(3, sums + 3 * kTile, kTileBytes);
}

inline void load_sums(const float* sums, bool two_a, bool two_b) {
  __asm__ volatile("" ::: "memory");  // as in multiply()
  _tile_loadd(0, sums, kTileBytes);
  if (two_b) _tile_loadd(1, sums + kTile, kTileBytes);
  if (two_a) _tile_loadd(2, sums + 2 * kTile, kTileBytes);
  if (two_a && two_b) _tile_loadd(3, sums + 3 * kTile, kTileBytes);
}

}  // namespace
}  // namespace indexshare::cpu
