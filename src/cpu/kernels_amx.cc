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

// 32 values of e4m3 as bf16, exactly. Their magnitudes, moved up, read as bf16 are 2^-120 of the value; the
// product is taken in f32, where subnormals of e4m3 become normal.
void widen(const fp8_e4m3* x, int64_t n, bf16* out) {
  const __m512 low = n >= 16 ? Avx512::load(x) : Avx512::load(x, n);
  const __m512 high = n >= 32 ? Avx512::load(x + 16) : n > 16 ? Avx512::load(x + 16, n - 16) : Avx512::zero();
  Avx512::store(out, low);
  Avx512::store(out + 16, high);
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

// The sums of 16 rows of w (C's rows) by a group of m rows of x (C's columns), put into y.
void store_sums(int tile, int64_t rows, int64_t m, float* const* y, int64_t y_first) {
  if (m == 1) {
    store_tile(tile, y[0] + y_first, 4);
    return;
  }
  alignas(64) float sums[16][16];
  store_tile(tile, sums, kTileBytes);
  __m512i lines[16];
  for (int i = 0; i < 16; ++i) lines[i] = _mm512_load_si512(sums[i]);
  transpose(lines);
  for (int64_t i = 0; i < m; ++i) {
    _mm512_mask_storeu_epi32(y[i] + y_first, Avx512::mask(rows), lines[i]);
  }
}

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
      for (int64_t c = k; c < end; c += kTileDepth) widen(row + c, end - c, out + r * stride + c - k);
    }
  }

 private:
  const Matrix& w_;
  int64_t row_, rows_;
  alignas(64) bf16 tail_[2 * kTileRows * kTileDepth];
};

constexpr int64_t kPrefetchBytes = 1024;  // how far ahead of a row's tile memory is asked for

void prefetch_rows(const bf16* tile, int64_t stride) {
  for (int64_t r = 0; r < kTileRows; ++r) {
    _mm_prefetch(reinterpret_cast<const char*>(tile) + r * stride + kPrefetchBytes, _MM_HINT_T0);
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

// fp8: one block of columns under one scale at a time, its partial sums scaled and added up in f32.
void matmul_fp8(const PackedMatmulArgs& a) {
  constexpr int64_t kMaxRun = 512;  // columns decoded at a time
  constexpr int64_t kSharing = 8;   // groups of x that share a decoded block
  const Matrix& w = *a.w;
  const int64_t run = w.block_cols < kMaxRun ? w.block_cols : kMaxRun;
  Tiles tiles;
  alignas(64) bf16 decoded[kTileRows * kMaxRun];
  alignas(64) float sums[kSharing][kTileRows][kPackRows];
  alignas(64) float part[kTileRows][kPackRows];
  for (int64_t j = 0; j < a.n; j += kTileRows) {
    const int64_t rows = a.n - j < kTileRows ? a.n - j : kTileRows;
    const WeightRows weights(w, a.first + j, rows);
    for (int64_t first = 0; first < a.m; first += kSharing * kPackRows) {
      const int64_t members = a.m - first < kSharing * kPackRows ? a.m - first : kSharing * kPackRows;
      std::memset(sums, 0, sizeof(sums));
      for (int64_t k = 0; k < w.cols;) {
        int64_t end = (k / w.block_cols + 1) * w.block_cols;  // of the columns under this scale
        end = end < w.cols ? end : w.cols;
        end = end < k + run ? end : k + run;
        weights.decode(k, end, decoded, kMaxRun);
        for (int64_t i = 0; i < members; i += kPackRows) {
          const int64_t m = members - i < kPackRows ? members - i : kPackRows;
          tiles.shape(rows, 0, m, 0);
          _tile_zero(0);
          for (int64_t c = k; c < end; c += kTileDepth) {
            const Operands o = {.a = {decoded + c - k, nullptr},
                                .a_stride = kMaxRun * 2,
                                .b = {a.x + (first + i) / kPackRows * a.group_stride + c * m, nullptr},
                                .b_stride = {m * 4, 0}};
            multiply(o);
          }
          _tile_stored(0, part, kTileBytes);
          for (int64_t r = 0; r < rows; ++r) {
            const __m512 scale = Avx512::set(w.scale_row(a.first + j + r)[k / w.block_cols]);
            float* sum = sums[i / kPackRows][r];
            Avx512::store(sum, Avx512::fma(Avx512::load(part[r]), scale, Avx512::load(sum)));
          }
        }
        k = end;
      }
      for (int64_t i = 0; i < members; ++i) {
        for (int64_t r = 0; r < rows; ++r)
          a.y[first + i][a.y_first + j + r] = sums[i / kPackRows][r][i % kPackRows];
      }
    }
  }
}

void packed_matmul(const PackedMatmulArgs& a) {
  if (a.w->dtype == DType::bf16) {
    matmul_bf16(a);
  } else {
    matmul_fp8(a);
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
  const __m512i low_half = _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39,
                                            7, 38, 6, 37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
  const __m512i high_half = _mm512_add_epi16(low_half, _mm512_set1_epi16(16));
  for (int64_t s = 0; s < kValueRows; s += 2) {
    bf16* out = m.values + s * m.latent;
    for (int64_t c = 0; c < m.latent; c += 32) {
      const auto columns = static_cast<__mmask32>(a.latent - c >= 32 ? ~0u : (1u << (a.latent - c)) - 1u);
      auto line = [&](int64_t row) {
        return row < a.n ? _mm512_maskz_loadu_epi16(columns, a.rows[row] + c) : _mm512_setzero_si512();
      };
      const __m512i even = line(first + s);
      const __m512i odd = line(first + s + 1);
      _mm512_storeu_si512(out + c * 2, _mm512_permutex2var_epi16(even, low_half, odd));
      _mm512_storeu_si512(out + c * 2 + 32, _mm512_permutex2var_epi16(even, high_half, odd));
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

template <typename T>
void store_dots(T (&dots)[4][16][16], bool more, bool two) {
  _tile_stored(0, dots[0], kTileBytes);
  if (two) _tile_stored(1, dots[1], kTileBytes);
  if (more) _tile_stored(2, dots[2], kTileBytes);
  if (more && two) _tile_stored(3, dots[3], kTileBytes);
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
      store_dots(dots, more, two);
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
      store_dots(dots, true, two);
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
