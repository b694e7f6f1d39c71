#include "cpu/amx_tiles.h"
#include "cpu/peak_loops.h"

namespace indexshare::cpu {
namespace {

constexpr int64_t kMultiplyAdds =
    4 * kTile * kTileDepth;  // of four instructions on bf16; on int8 twice as many

// Whole tiles, all zero.
class ZeroTiles {
 public:
  ZeroTiles() {
    tiles_.shape(kTileRows, kTileRows, kTileRows, kTileRows);
    zero_sums(true, true);
    _tile_zero(4);
    _tile_zero(5);
    _tile_zero(6);
    _tile_zero(7);
  }

 private:
  Tiles tiles_;
};

void bf16(int64_t rounds) {
  const ZeroTiles tiles;
  for (int64_t i = 0; i < rounds; ++i) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
}

void int8(int64_t rounds) {
  const ZeroTiles tiles;
  for (int64_t i = 0; i < rounds; ++i) {
    _tile_dpbssd(0, 4, 6);
    _tile_dpbssd(1, 4, 7);
    _tile_dpbssd(2, 5, 6);
    _tile_dpbssd(3, 5, 7);
  }
}

constexpr PeakLoop kLoops[] = {{"amx", "bf16", "tdpbf16ps", 2 * kMultiplyAdds, bf16},
                               {"amx", "int8", "tdpbssd", 4 * kMultiplyAdds, int8}};

}  // namespace

std::span<const PeakLoop> amx_peak_loops() {
  return kLoops;
}

}  // namespace indexshare::cpu
