#include <immintrin.h>

#include "cpu/peak_loops.h"

namespace indexshare::cpu {
namespace {

constexpr int kSums = 4;                         // tiles 0 to 3; 4 to 7 hold the factors
constexpr int64_t kTileProducts = 16 * 16 * 64;  // 64 bytes of each of 16 rows by those of 16 columns

struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);

// Tiles of 16 rows of 64 bytes, all zero. The registers belong to the thread.
class Tiles {
 public:
  Tiles() {
    const TileConfig config;
    __asm__ volatile("" : : "m"(config));  // gcc 12 takes only its first bytes to be read
    _tile_loadconfig(&config);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_zero(4);
    _tile_zero(5);
    _tile_zero(6);
    _tile_zero(7);
  }
  ~Tiles() { _tile_release(); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
};

void bf16(int64_t rounds) {
  const Tiles tiles;
  for (int64_t i = 0; i < rounds; ++i) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
}

void int8(int64_t rounds) {
  const Tiles tiles;
  for (int64_t i = 0; i < rounds; ++i) {
    _tile_dpbssd(0, 4, 6);
    _tile_dpbssd(1, 4, 7);
    _tile_dpbssd(2, 5, 6);
    _tile_dpbssd(3, 5, 7);
  }
}

constexpr PeakLoop kTiles[] = {{"amx", "bf16", "tdpbf16ps", kSums* kTileProducts, bf16},
                               {"amx", "int8", "tdpbssd", 2 * kSums* kTileProducts, int8}};

}  // namespace

std::span<const PeakLoop> amx_peak_loops() {
  return kTiles;
}

}  // namespace indexshare::cpu
