// What the AMX kernels share: the tile registers, and values as tiles want them. To be included only by files
// that are compiled for AMX.
//
// A tile instruction multiplies 16 rows of A (32 values each) by 16 columns of B (stored by pairs of values,
// [16 pairs][16 columns][2]) and adds to 16 x 16 sums in f32, pair after pair. Rows of A and columns of B do
// not touch one another, so that a sum is the same whatever stands beside it.
#pragma once

#include <cstring>

#include "cpu/vec_avx512.h"

namespace indexshare::cpu {
namespace {

constexpr int64_t kTileRows = 16;
constexpr int64_t kTileDepth = 32;                // values of bf16 in a row of A
constexpr int64_t kTileBytes = 64;                // of a row
constexpr int64_t kTile = kTileRows * kTileRows;  // values of one C
constexpr int64_t kSums = 4 * kTile;              // of the four that are in use together

// As base/round_up.h, which has no internal linkage: what is compiled for AMX must not serve other files.
inline int64_t round_up(int64_t n, int64_t step) {
  return (n + step - 1) / step * step;
}

inline int64_t at_most(int64_t n, int64_t most) {
  return n < most ? n : most;
}

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

// Rows and columns of 16 x 16 values of 32 bits change places.
inline void transpose(__m512i (&r)[16]) {
  __m512i t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0xdd);
    t[i + 8] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0xdd);
  }
  for (int i = 0; i < 4; ++i) {
    r[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
    r[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
    r[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
    r[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xdd);
  }
}

// 16 values rounded to bf16, in the lower halves of their lanes.
inline __m512i to_bf16_lanes(__m512 x) {
  return _mm512_srli_epi32(Avx512::rounded(x), 16);
}

// 32 values as 16 pairs of bf16.
inline __m512i to_pairs(const float* x, int64_t n) {
  const __m512i index = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  const __m512 low = n >= 16 ? Avx512::load(x) : Avx512::load(x, n);
  const __m512 high = n >= 32 ? Avx512::load(x + 16) : n > 16 ? Avx512::load(x + 16, n - 16) : Avx512::zero();
  const __m512 even = _mm512_permutex2var_ps(low, index, high);
  const __m512 odd = _mm512_permutex2var_ps(low, _mm512_add_epi32(index, _mm512_set1_epi32(1)), high);
  const __m512i upper =
      _mm512_and_si512(Avx512::rounded(odd), _mm512_set1_epi32(static_cast<int>(0xffff0000u)));
  return _mm512_or_si512(to_bf16_lanes(even), upper);
}

// 32 values of e4m3 as bf16, exactly: exponents move by 120, the few subnormal magnitudes are looked up.
inline void widen(const fp8_e4m3* x, int64_t n, bf16* out) {
  const __m512i subnormals = _mm512_castsi128_si512(  // i * 2^-9
      _mm_setr_epi16(0x0000, 0x3b00, 0x3b80, 0x3bc0, 0x3c00, 0x3c20, 0x3c40, 0x3c60));
  const __m256i bytes = n >= 32 ? _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x))
                                : _mm256_maskz_loadu_epi8((1u << n) - 1u, x);
  const __m512i bits = _mm512_cvtepu8_epi16(bytes);
  const __m512i magnitude = _mm512_and_si512(bits, _mm512_set1_epi16(0x7f));
  const __m512i sign = _mm512_slli_epi16(_mm512_and_si512(bits, _mm512_set1_epi16(0x80)), 8);
  __m512i value = _mm512_add_epi16(_mm512_slli_epi16(magnitude, 4), _mm512_set1_epi16(0x3c00));
  const __mmask32 small = _mm512_cmplt_epu16_mask(magnitude, _mm512_set1_epi16(8));
  value = _mm512_mask_permutexvar_epi16(value, small, magnitude, subnormals);
  const __mmask32 nan = _mm512_cmpeq_epi16_mask(magnitude, _mm512_set1_epi16(0x7f));
  value = _mm512_mask_mov_epi16(value, nan, _mm512_set1_epi16(0x7fc0));
  _mm512_storeu_si512(out, _mm512_or_si512(value, sign));
}

// Two rows of 32 columns by turns: pairs of values as B wants them.
inline void interleave(__m512i even, __m512i odd, bf16* out) {
  const __m512i low_half = _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39,
                                            7, 38, 6, 37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
  const __m512i high_half = _mm512_add_epi16(low_half, _mm512_set1_epi16(16));
  _mm512_storeu_si512(out, _mm512_permutex2var_epi16(even, low_half, odd));
  _mm512_storeu_si512(out + 32, _mm512_permutex2var_epi16(even, high_half, odd));
}

// The first `columns` of 32 values; the others zero.
inline __m512i load_columns(const bf16* x, int64_t columns) {
  return _mm512_maskz_loadu_epi16(static_cast<__mmask32>(columns >= 32 ? ~0u : (1u << columns) - 1u), x);
}

}  // namespace
}  // namespace indexshare::cpu
