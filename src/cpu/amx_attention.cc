// Attention to gathered cache rows on AMX tiles.
#include "cpu/amx_kernels.h"
#include "cpu/amx_tiles.h"
#include "cpu/bf16_attention.h"

namespace indexshare::cpu {
namespace {

class AttentionTiles {
 public:
  // Two groups of heads and 32 rows at a time.
  void scores(const AttendScratch& m, int64_t s) {
    for (int64_t g = 0; g < m.groups; g += 2) {
      const bool two = g + 1 < m.groups;
      tiles_.shape(kTileRows, kTileRows, kTileRows, two ? kTileRows : 0);
      zero_sums(true, two);
      for (int64_t k = 0; k < m.width; k += kTileDepth) {
        const bf16* q = m.q + g * m.width * kTileRows + k * kTileRows;
        multiply({.a = {m.keys + k, m.keys + kTileRows * m.width + k},
                  .a_stride = m.width * 2,
                  .b = {q, two ? q + m.width * kTileRows : nullptr},
                  .b_stride = {kTileBytes, kTileBytes}});
      }
      float* scores = m.scores + (g * m.n + s) * kTileRows;
      _tile_stored(0, scores, kTileBytes);
      _tile_stored(2, scores + kTileRows * kTileRows, kTileBytes);
      if (!two) continue;
      scores += m.n * kTileRows;
      _tile_stored(1, scores, kTileBytes);
      _tile_stored(3, scores + kTileRows * kTileRows, kTileBytes);
    }
  }

  // 32 columns at a time.
  void values(const AttendScratch& m, int64_t first) {
    const int64_t rows = m.n - first < kValueRows ? m.n - first : kValueRows;
    for (int64_t g = 0; g < m.groups; g += 2) {
      const bool two = g + 1 < m.groups;
      tiles_.shape(kTileRows, two ? kTileRows : 0, kTileRows, kTileRows);
      const auto stride = static_cast<size_t>(m.latent) * sizeof(float);
      for (int64_t c = 0; c < m.latent; c += 32) {
        float* out = m.out + g * kTileRows * m.latent + c;
        float* next = out + kTileRows * m.latent;
        _tile_loadd(0, out, stride);
        _tile_loadd(1, out + 16, stride);
        if (two) _tile_loadd(2, next, stride);
        if (two) _tile_loadd(3, next + 16, stride);
        for (int64_t s = 0; s < rows; s += kTileDepth) {
          const bf16* weights = m.weights + g * m.n * kTileRows + first + s;
          const bf16* values = m.values + s * m.latent + c * 2;
          multiply({.a = {weights, two ? weights + m.n * kTileRows : nullptr},
                    .a_stride = m.n * 2,
                    .b = {values, values + 32},
                    .b_stride = {m.latent * 4, m.latent * 4}});
        }
        _tile_stored(0, out, stride);
        _tile_stored(1, out + 16, stride);
        if (two) _tile_stored(2, next, stride);
        if (two) _tile_stored(3, next + 16, stride);
      }
    }
  }

 private:
  Tiles tiles_;
};

}  // namespace

namespace amx {

int64_t attend_scratch_bytes(int64_t heads, int64_t latent, int64_t rope, int64_t n) {
  return AttendScratch(heads, latent, rope, n, nullptr).bytes;
}

void attend(const AttendArgs& a) {
  AttentionTiles tiles;
  attend_with(a, tiles);
}

}  // namespace amx
}  // namespace indexshare::cpu
