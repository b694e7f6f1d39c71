// The table for AVX-512 with the products of bf16 and the index scores of int8 on AMX tiles.
//
// A tile instruction multiplies 16 rows of A (32 values each) by 16 columns of B (stored by pairs of values,
// [16 pairs][16 columns][2]) and adds to 16 x 16 sums in f32, pair after pair. Rows of A and columns of B do
// not touch one another, so that a sum is the same whatever stands beside it.
#include <cstring>

#include "cpu/simd_kernels.h"
#include "cpu/vec_avx512_bf16.h"

namespace indexshare::cpu {
namespace {

constexpr int64_t kTileRows = 16;
constexpr int64_t kTileDepth = 32;  // values of bf16 in a row of A
constexpr int64_t kTileBytes = 64;  // of a row

int64_t round_up(int64_t n, int64_t step) {
  return (n + step - 1) / step * step;
}

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

void multiply(const Operands& o) {
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

void zero_sums(bool two_a, bool two_b) {
  _tile_zero(0);
  if (two_b) _tile_zero(1);
  if (two_a) _tile_zero(2);
  if (two_a && two_b) _tile_zero(3);
}

// The sums in use, one C after another.
template <typename T>
void store_tiles(T* sums, bool two_a, bool two_b) {
  constexpr int64_t kTile = kTileRows * kTileRows;
  _tile_stored(0, sums, kTileBytes);
  if (two_b) _tile_stored(1, sums + kTile, kTileBytes);
  if (two_a) _tile_stored(2, sums + 2 * kTile, kTileBytes);
  if (two_a && two_b) _tile_stored(3, sums + 3 * kTile, kTileBytes);
}

void load_sums(const float* sums, bool two_a, bool two_b) {
  constexpr int64_t kTile = kTileRows * kTileRows;
  __asm__ volatile("" ::: "memory");  // as in multiply()
  _tile_loadd(0, sums, kTileBytes);
  if (two_b) _tile_loadd(1, sums + kTile, kTileBytes);
  if (two_a) _tile_loadd(2, sums + 2 * kTile, kTileBytes);
  if (two_a && two_b) _tile_loadd(3, sums + 3 * kTile, kTileBytes);
}

// Rows and columns of 16 x 16 values of 32 bits change places.
void transpose(__m512i (&r)[16]) {
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
__m512i to_bf16_lanes(__m512 x) {
  return _mm512_srli_epi32(Avx512::rounded(x), 16);
}

// 32 values as 16 pairs of bf16.
__m512i to_pairs(const float* x, int64_t n) {
  const __m512i index = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  const __m512 low = n >= 16 ? Avx512::load(x) : Avx512::load(x, n);
  const __m512 high = n >= 32 ? Avx512::load(x + 16) : n > 16 ? Avx512::load(x + 16, n - 16) : Avx512::zero();
  const __m512 even = _mm512_permutex2var_ps(low, index, high);
  const __m512 odd = _mm512_permutex2var_ps(low, _mm512_add_epi32(index, _mm512_set1_epi32(1)), high);
  const __m512i upper =
      _mm512_and_si512(Avx512::rounded(odd), _mm512_set1_epi32(static_cast<int>(0xffff0000u)));
  return _mm512_or_si512(to_bf16_lanes(even), upper);
}

int64_t packed_values(int64_t m, int64_t k) {
  return m * round_up(k, kTileDepth);
}

void pack(const float* const* x, int64_t m, int64_t k, bf16* out) {
  for (int64_t i = 0; i < k; i += kTileDepth) {
    bf16* tile = out + i * m;  // [16 pairs][m][2]
    if (m == 1) {
      _mm512_storeu_si512(tile, to_pairs(x[0] + i, k - i));
      continue;
    }
    __m512i rows[16];
    for (int64_t r = 0; r < 16; ++r) rows[r] = r < m ? to_pairs(x[r] + i, k - i) : _mm512_setzero_si512();
    transpose(rows);
    const __mmask16 columns = Avx512::mask(m);
    for (int64_t p = 0; p < 16; ++p) _mm512_mask_storeu_epi32(tile + p * 2 * m, columns, rows[p]);
  }
}

bool supports(const Matrix& w) {
  if (w.dtype == DType::bf16) return true;
  return w.dtype == DType::fp8_e4m3 && (w.block_cols % kTileDepth == 0 || w.block_cols >= w.cols);
}

// 32 values of e4m3 as bf16, exactly: exponents move by 120, the few subnormal magnitudes are looked up.
void widen(const fp8_e4m3* x, int64_t n, bf16* out) {
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

// gcc pastes the tile's number into the instruction's text: it has to stand there as a literal.
void store_tile(int tile, void* to, size_t stride) {
  switch (tile) {
    case 0: _tile_stored(0, to, stride); break;
    case 1: _tile_stored(1, to, stride); break;
    case 2: _tile_stored(2, to, stride); break;
    default: _tile_stored(3, to, stride); break;
  }
}

// The sums of 16 rows of w (a stored C's rows) by a group of m rows of x (its columns), put into y.
void put_sums(const float* sums, int64_t rows, int64_t m, float* const* y, int64_t y_first) {
  __m512i lines[16];
  for (int i = 0; i < 16; ++i) lines[i] = _mm512_load_si512(sums + i * kTileRows);
  transpose(lines);
  for (int64_t i = 0; i < m; ++i) {
    _mm512_mask_storeu_epi32(y[i] + y_first, Avx512::mask(rows), lines[i]);
  }
}

void store_sums(int tile, int64_t rows, int64_t m, float* const* y, int64_t y_first) {
  if (m == 1) {
    store_tile(tile, y[0] + y_first, 4);
    return;
  }
  alignas(64) float sums[kTileRows * kTileRows];
  store_tile(tile, sums, kTileBytes);
  put_sums(sums, rows, m, y, y_first);
}

constexpr int64_t kPrefetchBytes = 1024;  // how far ahead of a row's tile memory is asked for

// What one block of up to 32 rows of w needs: its rows' lengths in tiles and where a short last tile stands.
class WeightRows {
 public:
  // bf16: whole tiles are read where they are, the rest of a row from a zero-padded copy.
  WeightRows(const Matrix& w, int64_t row, int64_t rows) : w_(w), row_(row), rows_(rows) {
    const int64_t rest = w.cols % kTileDepth;
    if (w.dtype != DType::bf16 || rest == 0) return;
    std::memset(static_cast<void*>(tail_), 0, sizeof(tail_));
    for (int64_t r = 0; r < rows; ++r) {
      std::memcpy(tail_ + r * kTileDepth, stored_row<bf16>(w, row + r) + w.cols - rest,
                  static_cast<size_t>(rest) * 2);
    }
  }

  // The tile of columns [k, k + 32) of rows [16 a, 16 a + 16), and the distance of its rows.
  const bf16* tile(int64_t a, int64_t k, int64_t& stride) const {
    if (k + kTileDepth > w_.cols) {
      stride = kTileDepth * 2;
      return tail_ + a * kTileRows * kTileDepth;
    }
    stride = w_.row_bytes();
    return stored_row<bf16>(w_, row_ + a * kTileRows) + k;
  }

  // fp8: columns [k, end) of all rows as bf16.
  void decode(int64_t k, int64_t end, bf16* out, int64_t stride) const {
    for (int64_t r = 0; r < rows_; ++r) {
      const auto* row = stored_row<fp8_e4m3>(w_, row_ + r);
      for (int64_t c = k; c < end; c += kTileDepth) {
        if (c % 64 == 0) _mm_prefetch(reinterpret_cast<const char*>(row) + c + kPrefetchBytes, _MM_HINT_T1);
        widen(row + c, end - c, out + r * stride + c - k);
      }
    }
  }

 private:
  const Matrix& w_;
  int64_t row_, rows_;
  alignas(64) bf16 tail_[2 * kTileRows * kTileDepth];
};

void prefetch_rows(const bf16* tile, int64_t stride) {
  for (int64_t r = 0; r < kTileRows; ++r) {
    _mm_prefetch(reinterpret_cast<const char*>(tile) + r * stride + kPrefetchBytes, _MM_HINT_T1);
  }
}

void matmul_bf16(const PackedMatmulArgs& a) {
  const Matrix& w = *a.w;
  const int64_t depth = round_up(w.cols, kTileDepth);
  Tiles tiles;
  for (int64_t j = 0; j < a.n; j += 2 * kTileRows) {
    const int64_t rows0 = a.n - j < kTileRows ? a.n - j : kTileRows;
    const int64_t rows1 = a.n - j - rows0 < kTileRows ? a.n - j - rows0 : kTileRows;
    const WeightRows weights(w, a.first + j, rows0 + rows1);
    for (int64_t i = 0; i < a.m; i += 2 * kPackRows) {
      const int64_t m0 = a.m - i < kPackRows ? a.m - i : kPackRows;
      const int64_t m1 = a.m - i - m0 < kPackRows ? a.m - i - m0 : kPackRows;
      tiles.shape(rows0, rows1, m0, m1);
      zero_sums(rows1 > 0, m1 > 0);
      const bf16* x0 = a.x + i / kPackRows * a.group_stride;
      const bf16* x1 = m1 > 0 ? x0 + a.group_stride : nullptr;
      for (int64_t k = 0; k < depth; k += kTileDepth) {
        Operands o{};
        o.a[0] = weights.tile(0, k, o.a_stride);
        if (rows1 > 0) o.a[1] = weights.tile(1, k, o.a_stride);
        if (i == 0) {
          prefetch_rows(o.a[0], o.a_stride);
          if (rows1 > 0) prefetch_rows(o.a[1], o.a_stride);
        }
        o.b[0] = x0 + k * m0;
        o.b_stride[0] = m0 * 4;
        if (m1 > 0) o.b[1] = x1 + k * m1;
        o.b_stride[1] = m1 * 4;
        multiply(o);
      }
      store_sums(0, rows0, m0, a.y + i, a.y_first + j);
      if (m1 > 0) store_sums(1, rows0, m1, a.y + i + m0, a.y_first + j);
      if (rows1 > 0) store_sums(2, rows1, m0, a.y + i, a.y_first + j + kTileRows);
      if (rows1 > 0 && m1 > 0) store_sums(3, rows1, m1, a.y + i + m0, a.y_first + j + kTileRows);
    }
  }
}

// sums += scales of the rows * part, or 0 + scales * part at first.
void add_scaled_sums(const float* part, const float* scales, int64_t rows, bool first, float* sums) {
  for (int64_t r = 0; r < rows; ++r, part += kTileRows, sums += kTileRows) {
    const __m512 before = first ? Avx512::zero() : Avx512::load(sums);
    Avx512::store(sums, Avx512::fma(Avx512::load(part), Avx512::set(scales[r]), before));
  }
}

// fp8: one block of columns under one scale at a time, its partial sums scaled and added up in f32.
void matmul_fp8(const PackedMatmulArgs& a) {
  constexpr int64_t kMaxRun = 512;  // columns decoded at a time
  const Matrix& w = *a.w;
  const int64_t run = w.block_cols < kMaxRun ? w.block_cols : kMaxRun;
  constexpr int64_t kTile = kTileRows * kPackRows;
  alignas(64) bf16 decoded[kTileRows * kMaxRun];
  alignas(64) float sums[2 * kTile], part[kTile];
  Tiles tiles;
  for (int64_t j = 0; j < a.n; j += kTileRows) {
    const int64_t rows = a.n - j < kTileRows ? a.n - j : kTileRows;
    const WeightRows weights(w, a.first + j, rows);
    const float* row_scales[kTileRows];
    for (int64_t r = 0; r < rows; ++r) row_scales[r] = w.scale_row(a.first + j + r);
    for (int64_t k = 0, end = 0; k < w.cols; k = end) {
      const int64_t block = k / w.block_cols;
      end = (block + 1) * w.block_cols;  // of the columns under this scale
      end = end < w.cols ? end : w.cols;
      end = end < k + run ? end : k + run;
      weights.decode(k, end, decoded, kMaxRun);
      alignas(64) float scales[kTileRows] = {};
      for (int64_t r = 0; r < rows; ++r) scales[r] = row_scales[r][block];
      for (int64_t i = 0; i < a.m; i += kPackRows) {
        const int64_t m = a.m - i < kPackRows ? a.m - i : kPackRows;
        tiles.shape(rows, 0, m, 0);
        _tile_zero(0);
        for (int64_t c = k; c < end; c += kTileDepth) {
          multiply({.a = {decoded + c - k, nullptr},
                    .a_stride = kMaxRun * 2,
                    .b = {a.x + i / kPackRows * a.group_stride + c * m, nullptr},
                    .b_stride = {m * 4, 0}});
        }
        float* group = sums + i / kPackRows * kTile;
        if (m == 1) {  // one sum for each row, side by side
          _tile_stored(0, part, 4);
          const __m512 before = k == 0 ? Avx512::zero() : Avx512::load(group);
          Avx512::store(group, Avx512::fma(Avx512::load(part), Avx512::load(scales), before));
        } else {
          _tile_stored(0, part, kTileBytes);
          add_scaled_sums(part, scales, rows, k == 0, group);
        }
      }
    }
    for (int64_t i = 0; i < a.m; i += kPackRows) {
      const int64_t m = a.m - i < kPackRows ? a.m - i : kPackRows;
      const float* group = sums + i / kPackRows * kTile;
      if (m == 1) {
        Avx512::store(a.y[i] + a.y_first + j, Avx512::load(group), rows);
      } else {
        put_sums(group, rows, m, a.y + i, a.y_first + j);
      }
    }
  }
}

// Two rows of 32 columns by turns: pairs of values as B wants them.
void interleave(__m512i even, __m512i odd, bf16* out) {
  const __m512i low_half = _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39,
                                            7, 38, 6, 37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
  const __m512i high_half = _mm512_add_epi16(low_half, _mm512_set1_epi16(16));
  _mm512_storeu_si512(out, _mm512_permutex2var_epi16(even, low_half, odd));
  _mm512_storeu_si512(out + 32, _mm512_permutex2var_epi16(even, high_half, odd));
}

// The first `columns` of 32 values; the others zero.
__m512i load_columns(const bf16* x, int64_t columns) {
  return _mm512_maskz_loadu_epi16(static_cast<__mmask32>(columns >= 32 ? ~0u : (1u << columns) - 1u), x);
}

// Many rows of x: blocks of w that stay in the first-level cache go against blocks of x that stay in the
// second, and the sums wait in memory from one block of columns to the next. Each is added up as for few
// rows.
constexpr int64_t kManyRows = 2 * kPackRows;          // more than these
constexpr int64_t kWideRows = 512;                    // of x, in one block
constexpr int64_t kDeepColumns = 512;                 // of w and x, in one block
constexpr int64_t kSums = 4 * kTileRows * kTileRows;  // of 32 rows of w by 32 of x, C after C

int64_t matmul_scratch_bytes(int64_t m, int64_t n) {
  if (m <= kManyRows) return 0;
  m = m < kWideRows ? m : kWideRows;
  return round_up(n, 2 * kTileRows) * round_up(m, 2 * kPackRows) * static_cast<int64_t>(sizeof(float));
}

// Columns [k, end) of up to 32 rows of w as tiles: [2][columns / 32][16 rows][32], the last columns padded
// with zeros.
void pack_weights(const Matrix& w, int64_t row, int64_t rows, int64_t k, int64_t end, bf16* out) {
  const int64_t tiles = (end - k + kTileDepth - 1) / kTileDepth;
  for (int64_t r = 0; r < rows; ++r) {
    bf16* to = out + (r / kTileRows * tiles * kTileRows + r % kTileRows) * kTileDepth;
    for (int64_t c = k; c < end; c += kTileDepth, to += kTileRows * kTileDepth) {
      if (w.dtype == DType::fp8_e4m3) {
        widen(stored_row<fp8_e4m3>(w, row + r) + c, end - c, to);
        continue;
      }
      _mm512_store_si512(to, load_columns(stored_row<bf16>(w, row + r) + c, end - c));
    }
  }
}

// Asks for columns [k, end) of some rows of w, in equal shares.
class RowsAhead {
 public:
  RowsAhead(const Matrix& w, int64_t row, int64_t rows, int64_t k, int64_t end, int64_t shares)
      : at_(reinterpret_cast<const char*>(w.row(row)) + k * dtype_bytes(w.dtype)),
        stride_(w.row_bytes()),
        bytes_((end - k) * dtype_bytes(w.dtype)),
        rows_(rows),
        share_((rows * ((bytes_ + 63) / 64) + shares - 1) / shares) {}

  void ask() {
    for (int64_t i = 0; i < share_ && rows_ > 0; ++i) {
      _mm_prefetch(at_ + offset_, _MM_HINT_T1);
      offset_ += 64;
      if (offset_ < bytes_) continue;
      offset_ = 0;
      at_ += stride_;
      --rows_;
    }
  }

 private:
  const char* at_;
  int64_t stride_, bytes_, rows_, share_, offset_ = 0;
};

void matmul_many(const PackedMatmulArgs& a) {
  const Matrix& w = *a.w;
  const bool scaled = w.dtype == DType::fp8_e4m3;
  const int64_t run = scaled && w.block_cols < kDeepColumns ? w.block_cols : kDeepColumns;
  auto* all_sums = reinterpret_cast<float*>(a.scratch);
  alignas(64) bf16 weights[2 * kTileRows * kDeepColumns];
  alignas(64) float part[kSums];
  Tiles tiles;
  for (int64_t from = 0; from < a.m; from += kWideRows) {
    const int64_t members = a.m - from < kWideRows ? a.m - from : kWideRows;
    const bf16* x = a.x + from / kPackRows * a.group_stride;
    float* const* y = a.y + from;
    for (int64_t k = 0, end = 0; k < w.cols; k = end) {
      end = k + run;
      if (scaled && end > (k / w.block_cols + 1) * w.block_cols) end = (k / w.block_cols + 1) * w.block_cols;
      end = end < w.cols ? end : w.cols;
      const int64_t row_tiles = (end - k + kTileDepth - 1) / kTileDepth * kTileRows * kTileDepth;
      float* sums = all_sums;
      for (int64_t j = 0; j < a.n; j += 2 * kTileRows) {
        const int64_t rows0 = a.n - j < kTileRows ? a.n - j : kTileRows;
        const int64_t rows1 = a.n - j - rows0 < kTileRows ? a.n - j - rows0 : kTileRows;
        pack_weights(w, a.first + j, rows0 + rows1, k, end, weights);
        float scales[2 * kTileRows];
        for (int64_t r = 0; scaled && r < rows0 + rows1; ++r) {
          scales[r] = w.scale_row(a.first + j + r)[k / w.block_cols];
        }
        // What comes next: further rows, or the next columns of the first ones.
        const bool more_rows = j + 2 * kTileRows < a.n;
        const int64_t next_j = more_rows ? j + 2 * kTileRows : 0, next_k = more_rows ? k : end;
        const int64_t next_rows = a.n - next_j < 2 * kTileRows ? a.n - next_j : 2 * kTileRows;
        const int64_t next_end = next_k + end - k < w.cols ? next_k + end - k : w.cols;
        RowsAhead ahead(w, a.first + next_j, next_k < w.cols ? next_rows : 0, next_k, next_end,
                        (members + 31) / 32 * (row_tiles / (kTileRows * kTileDepth)));
        for (int64_t i = 0; i < members; i += 2 * kPackRows, sums += kSums) {
          const int64_t m0 = members - i < kPackRows ? members - i : kPackRows;
          const int64_t m1 = members - i - m0 < kPackRows ? members - i - m0 : kPackRows;
          const bool two_a = rows1 > 0, two_b = m1 > 0;
          tiles.shape(rows0, rows1, m0, m1);
          if (k == 0 || scaled) {
            zero_sums(two_a, two_b);
          } else {
            load_sums(sums, two_a, two_b);
          }
          const bf16* x0 = x + i / kPackRows * a.group_stride;
          for (int64_t c = k; c < end; c += kTileDepth) {
            const bf16* tile = weights + (c - k) * kTileRows;
            ahead.ask();
            multiply({.a = {tile, two_a ? tile + row_tiles : nullptr},
                      .a_stride = kTileBytes,
                      .b = {x0 + c * m0, two_b ? x0 + a.group_stride + c * m1 : nullptr},
                      .b_stride = {m0 * 4, m1 * 4}});
          }
          store_tiles(scaled ? part : sums, two_a, two_b);
          if (scaled) {
            for (int b = 0; b < (two_b ? 2 : 1); ++b) {
              constexpr int64_t kTile = kTileRows * kTileRows;
              add_scaled_sums(part + b * kTile, scales, rows0, k == 0, sums + b * kTile);
              add_scaled_sums(part + (2 + b) * kTile, scales + kTileRows, rows1, k == 0,
                              sums + (2 + b) * kTile);
            }
          }
          if (end < w.cols) continue;
          for (int64_t t = 0; t < 4; ++t) {
            const int64_t rows = t < 2 ? rows0 : rows1, m = t % 2 == 0 ? m0 : m1;
            if (rows == 0 || m == 0) continue;
            put_sums(sums + t * kTileRows * kTileRows, rows, m, y + i + t % 2 * kPackRows,
                     a.y_first + j + t / 2 * kTileRows);
          }
        }
      }
    }
  }
}

void packed_matmul(const PackedMatmulArgs& a) {
  if (a.m > kManyRows) {
    matmul_many(a);
  } else if (a.w->dtype == DType::bf16) {
    matmul_bf16(a);
  } else {
    matmul_fp8(a);
  }
}

// Where combine() keeps what, with rows of x, of w and columns padded to whole tiles.
struct CombineScratch {
  int64_t depth, cols;
  bf16* x;  // [m][depth]
  bf16* w;  // [depth / 2][cols][2]
  int64_t bytes;

  CombineScratch(int64_t m, int64_t n, int64_t columns, std::byte* base)
      : depth(round_up(n, kTileDepth)), cols(round_up(columns, 2 * kTileRows)) {
    const int64_t x_values = round_up(m, kTileRows) * depth;
    x = reinterpret_cast<bf16*>(base);
    w = base != nullptr ? x + x_values : nullptr;
    bytes = (x_values + depth * cols) * 2;
  }
};

int64_t combine_scratch_bytes(int64_t m, int64_t n, int64_t cols) {
  return CombineScratch(m, n, cols, nullptr).bytes;
}

bool supports_combine(const Matrix& w, int64_t first) {
  if (w.dtype == DType::bf16) return true;
  return w.dtype == DType::fp8_e4m3 && first % kTileDepth == 0 && w.block_rows % kTileDepth == 0 &&
         w.block_cols % kTileDepth == 0;
}

// A row of w, 32 columns from c on, as bf16; zeros outside.
__m512i combine_line(const CombineArgs& a, int64_t j, int64_t c) {
  if (j >= a.n) return _mm512_setzero_si512();
  if (a.w->dtype == DType::bf16) return load_columns(stored_row<bf16>(*a.w, a.first + j) + c, a.cols - c);
  alignas(64) bf16 line[kTileDepth];
  widen(stored_row<fp8_e4m3>(*a.w, a.first + j) + c, a.cols - c, line);
  return _mm512_load_si512(line);
}

// x's rows stand in A, w's rows by pairs in B; where w has scales, each block of its rows is added up by
// itself.
void combine_tiles(const CombineArgs& a, std::byte* scratch) {
  const Matrix& w = *a.w;
  const bool scaled = w.dtype == DType::fp8_e4m3;
  const CombineScratch s(a.m, a.n, a.cols, scratch);
  for (int64_t i = 0; i < a.m; ++i) {
    for (int64_t j = 0; j < a.n; j += kTileDepth) {
      _mm512_storeu_si512(s.x + i * s.depth + j, to_pairs(a.x[i] + j, a.n - j));
    }
  }
  for (int64_t j = 0; j < s.depth; j += 2) {
    for (int64_t c = 0; c < a.cols; c += 32) {
      interleave(combine_line(a, j, c), combine_line(a, j + 1, c), s.w + j * s.cols + c * 2);
    }
  }
  constexpr int64_t kTile = kTileRows * kTileRows;
  alignas(64) float part[kSums], sums[kSums];
  Tiles tiles;
  for (int64_t i = 0; i < a.m; i += 2 * kTileRows) {
    const int64_t m0 = a.m - i < kTileRows ? a.m - i : kTileRows;
    const int64_t m1 = a.m - i - m0 < kTileRows ? a.m - i - m0 : kTileRows;
    tiles.shape(m0, m1, kTileRows, kTileRows);
    for (int64_t c = 0; c < a.cols; c += 2 * kTileRows) {
      for (int64_t j = 0, end = 0; j < a.n; j = end) {
        end = scaled ? ((a.first + j) / w.block_rows + 1) * w.block_rows - a.first : s.depth;
        end = end < s.depth ? end : s.depth;
        zero_sums(m1 > 0, true);
        for (int64_t k = j; k < end; k += kTileDepth) {
          const bf16* x = s.x + i * s.depth + k;
          const bf16* pairs = s.w + k * s.cols + c * 2;
          multiply({.a = {x, m1 > 0 ? x + kTileRows * s.depth : nullptr},
                    .a_stride = s.depth * 2,
                    .b = {pairs, pairs + 2 * kTileRows},
                    .b_stride = {s.cols * 4, s.cols * 4}});
        }
        store_tiles(scaled ? part : sums, m1 > 0, true);
        if (!scaled) continue;
        const __m512 scale = Avx512::set(w.scale_row(a.first + j)[c / w.block_cols]);
        for (int64_t v = 0; v < kSums; v += kTileRows) {
          const __m512 before = j == 0 ? Avx512::zero() : Avx512::load(sums + v);
          Avx512::store(sums + v, Avx512::fma(Avx512::load(part + v), scale, before));
        }
      }
      for (int64_t r = 0; r < m0 + m1; ++r) {
        const float* line = sums + r / kTileRows * 2 * kTile + r % kTileRows * kTileRows;
        for (int64_t half = 0; half < 2; ++half) {
          const int64_t at = c + half * kTileRows, columns = a.cols - at;
          if (columns <= 0) continue;
          Avx512::store(a.y[i + r] + at, Avx512::load(line + half * kTile), columns < 16 ? columns : 16);
        }
      }
    }
  }
}

constexpr int64_t kMaxGroups = 4;    // of 16 heads: what attend() takes at most
constexpr int64_t kValueRows = 128;  // cache rows whose values are packed at a time

// Where attend() keeps what: everything for `groups` groups of 16 heads and n rows, padded to whole tiles.
struct AttendScratch {
  int64_t groups, width, latent, n;  // padded
  bf16* q;                           // [groups][width / 2][16][2]
  bf16* keys;                        // [32][width]
  float* scores;                     // [groups][n][16]
  bf16* weights;                     // [groups][16][n]
  bf16* values;                      // [kValueRows / 2][latent][2]
  float* out;                        // [groups][16][latent]
  int64_t bytes;

  AttendScratch(int64_t heads, int64_t latent_width, int64_t rope, int64_t rows, std::byte* base)
      : groups(round_up(heads, kTileRows) / kTileRows),
        width(round_up(latent_width + rope, kTileDepth)),
        latent(round_up(latent_width, 32)),
        n(round_up(rows, kTileDepth)) {
    bytes = 0;
    auto take = [&](auto*& pointer, int64_t count) {
      using Pointer = std::remove_reference_t<decltype(pointer)>;
      pointer = base != nullptr ? reinterpret_cast<Pointer>(base + bytes) : nullptr;
      bytes += round_up(count * static_cast<int64_t>(sizeof(*pointer)), 64);
    };
    take(q, groups * width * kTileRows);
    take(keys, 2 * kTileRows * width);
    take(scores, groups * n * kTileRows);
    take(weights, groups * n * kTileRows);
    take(values, kValueRows * latent);
    take(out, groups * kTileRows * latent);
  }
};

int64_t attend_scratch_bytes(int64_t heads, int64_t latent, int64_t rope, int64_t n) {
  return AttendScratch(heads, latent, rope, n, nullptr).bytes;
}

// scores[g][s][h] = rows[s] . q[g][h], two groups of heads and 32 rows at a time.
void attend_scores(const AttendArgs& a, const AttendScratch& m, Tiles& tiles) {
  const int64_t width = a.latent + a.rope;
  std::memset(static_cast<void*>(m.keys), 0, static_cast<size_t>(2 * kTileRows * m.width) * sizeof(bf16));
  for (int64_t s = 0; s < m.n; s += 2 * kTileRows) {
    for (int64_t r = 0; r < 2 * kTileRows && s + r < a.n; ++r) {
      if (s + r + 8 < a.n) {
        const char* ahead = reinterpret_cast<const char*>(a.rows[s + r + 8]);
        for (int64_t b = 0; b < width * 2; b += 64) _mm_prefetch(ahead + b, _MM_HINT_T0);
      }
      std::memcpy(m.keys + r * m.width, a.rows[s + r], static_cast<size_t>(width) * sizeof(bf16));
    }
    for (int64_t g = 0; g < m.groups; g += 2) {
      const bool two = g + 1 < m.groups;
      tiles.shape(kTileRows, kTileRows, kTileRows, two ? kTileRows : 0);
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
}

// weights[h][s] = exp(scale * (scores[s][h] - max)) in bf16, zero behind the last row; returns the 16 sums.
__m512 attend_softmax(const AttendArgs& a, const AttendScratch& m, int64_t g) {
  const float* scores = m.scores + g * m.n * kTileRows;
  bf16* weights = m.weights + g * m.n * kTileRows;
  __m512 max = Avx512::load(scores);
  for (int64_t s = 1; s < a.n; ++s) max = Avx512::max(max, Avx512::load(scores + s * kTileRows));
  const __m512 scale = Avx512::set(a.scale);
  __m512 sum = Avx512::zero();
  for (int64_t s = 0; s < m.n; s += 16) {
    __m512i lines[16];
    for (int64_t r = 0; r < 16; ++r) {
      if (s + r >= a.n) {
        lines[r] = _mm512_setzero_si512();
        continue;
      }
      const __m512 score = Avx512::load(scores + (s + r) * kTileRows);
      const __m512 e = exp<Avx512>(Avx512::mul(scale, Avx512::sub(score, max)));
      sum = Avx512::add(sum, e);
      lines[r] = _mm512_castps_si512(e);
    }
    transpose(lines);
    for (int64_t h = 0; h < 16; ++h) Avx512::store(weights + h * m.n + s, _mm512_castsi512_ps(lines[h]));
  }
  return sum;
}

// values[s / 2][c][s % 2] = rows[first + s][c], for a block of kValueRows rows; zero behind the last one.
void pack_values(const AttendArgs& a, const AttendScratch& m, int64_t first) {
  for (int64_t s = 0; s < kValueRows; s += 2) {
    bf16* out = m.values + s * m.latent;
    for (int64_t c = 0; c < m.latent; c += 32) {
      auto line = [&](int64_t row) {
        return row < a.n ? load_columns(a.rows[row] + c, a.latent - c) : _mm512_setzero_si512();
      };
      interleave(line(first + s), line(first + s + 1), out + c * 2);
    }
  }
}

// out[g][h][c] += sum over the block's rows of weights[g][h][s] * values[s][c], 32 columns at a time.
void attend_values(const AttendScratch& m, int64_t first, Tiles& tiles) {
  const int64_t rows = m.n - first < kValueRows ? m.n - first : kValueRows;
  for (int64_t g = 0; g < m.groups; g += 2) {
    const bool two = g + 1 < m.groups;
    tiles.shape(kTileRows, two ? kTileRows : 0, kTileRows, kTileRows);
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

void attend(const AttendArgs& a) {
  const AttendScratch m(a.heads, a.latent, a.rope, a.n, a.scratch);
  const int64_t width = a.latent + a.rope;
  static constexpr float kZeros[1] = {};
  for (int64_t g = 0; g < m.groups; ++g) {
    const int64_t heads = a.heads - g * kTileRows < kTileRows ? a.heads - g * kTileRows : kTileRows;
    bf16* q = m.q + g * m.width * kTileRows;
    for (int64_t i = 0; i < width; i += kTileDepth) {  // as pack(), always 16 columns
      __m512i rows[16];
      for (int64_t h = 0; h < 16; ++h) {
        rows[h] = h < heads ? to_pairs(a.q[g * kTileRows + h] + i, width - i) : to_pairs(kZeros, 0);
      }
      transpose(rows);
      for (int64_t p = 0; p < 16; ++p) _mm512_storeu_si512(q + i * kTileRows + p * 32, rows[p]);
    }
  }
  std::memset(m.out, 0, static_cast<size_t>(m.groups * kTileRows * m.latent) * sizeof(float));
  Tiles tiles;
  attend_scores(a, m, tiles);
  alignas(64) float sums[16];
  float factors[kMaxGroups][16];
  for (int64_t g = 0; g < m.groups; ++g) {
    Avx512::store(sums, attend_softmax(a, m, g));
    for (int h = 0; h < 16; ++h) factors[g][h] = 1.0f / sums[h];
  }
  for (int64_t first = 0; first < m.n; first += kValueRows) {
    pack_values(a, m, first);
    attend_values(m, first, tiles);
  }
  for (int64_t h = 0; h < a.heads; ++h) {
    scale<Avx512>(m.out + h * m.latent, factors[h / 16][h % 16], a.latent, a.out[h]);
  }
}

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

void index_scores_tiles(const IndexArgs<bf16, bf16>& a) {
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

// Keys in int8: a tile of A holds 16 heads by 64 values, one of B 16 quads of values by 16 keys.
void index_scores_int8_tiles(const Int8IndexArgs& a) {
  constexpr int64_t kDepth = 64;
  if (a.dim % kDepth != 0 || a.heads % (2 * kTileRows) != 0) return index_scores_int8<Avx512Bf16>(a);
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
      for (int64_t k = 0; k < a.dim; k += kDepth) {
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

constexpr MatrixUnit kUnit = {
    .supports = supports,
    .packed_values = packed_values,
    .pack = pack,
    .matmul = packed_matmul,
    .matmul_scratch_bytes = matmul_scratch_bytes,
    .supports_combine = supports_combine,
    .combine = combine_tiles,
    .combine_scratch_bytes = combine_scratch_bytes,
    .attend = attend,
    .attend_scratch_bytes = attend_scratch_bytes,
    .index_scores = index_scores_tiles,
};

constexpr Kernels with_unit(Kernels table) {
  table.matrix_unit = &kUnit;
  table.index_scores_int8 = index_scores_int8_tiles;
  return table;
}

}  // namespace

const Kernels& amx_kernels() {
  static constexpr Kernels kTable = with_unit(simd_table<Avx512Bf16>("amx"));
  return kTable;
}

}  // namespace indexshare::cpu
