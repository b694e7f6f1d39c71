// Products with weights on AMX tiles, of bf16 or of fp8 as bf16.
#include "cpu/amx_kernels.h"
#include "cpu/amx_tiles.h"
#include "cpu/simd_kernels.h"

namespace indexshare::cpu {
namespace {

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
  alignas(64) float sums[kTile];
  store_tile(tile, sums, kTileBytes);
  put_sums(sums, rows, m, y, y_first);
}

constexpr int64_t kPrefetchBytes = 1024;  // how far ahead of a row's tile memory is asked for

// Up to 32 rows of a bf16 matrix: whole tiles are read where they are, the rest of a row from a zero-padded
// copy.
class WeightRows {
 public:
  WeightRows(const Matrix& w, int64_t row, int64_t rows) : w_(w), row_(row) {
    const int64_t rest = w.cols % kTileDepth;
    if (rest == 0) return;
    for (int64_t r = 0; r < rows; ++r) {
      _mm512_store_si512(tail_ + r * kTileDepth,
                         load_columns(stored_row<bf16>(w, row + r) + w.cols - rest, rest));
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

 private:
  const Matrix& w_;
  int64_t row_;
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
    const TwoTiles rows(a.n - j);
    const WeightRows weights(w, a.first + j, rows.count());
    for (int64_t i = 0; i < a.m; i += 2 * kPackRows) {
      const TwoTiles m(a.m - i);
      tiles.shape(rows.first, rows.second, m.first, m.second);
      zero_sums(rows.both(), m.both());
      const bf16* x0 = a.x + i / kPackRows * a.group_stride;
      const bf16* x1 = m.both() ? x0 + a.group_stride : nullptr;
      for (int64_t k = 0; k < depth; k += kTileDepth) {
        Operands o{};
        o.a[0] = weights.tile(0, k, o.a_stride);
        if (rows.both()) o.a[1] = weights.tile(1, k, o.a_stride);
        if (i == 0) {
          prefetch_rows(o.a[0], o.a_stride);
          if (rows.both()) prefetch_rows(o.a[1], o.a_stride);
        }
        o.b[0] = x0 + k * m.first;
        o.b_stride[0] = m.first * 4;
        if (m.both()) o.b[1] = x1 + k * m.second;
        o.b_stride[1] = m.second * 4;
        multiply(o);
      }
      float* const* y = a.y + i;
      const int64_t y_first = a.y_first + j;
      store_sums(0, rows.first, m.first, y, y_first);
      if (m.both()) store_sums(1, rows.first, m.second, y + m.first, y_first);
      if (rows.both()) store_sums(2, rows.second, m.first, y, y_first + kTileRows);
      if (rows.both() && m.both()) store_sums(3, rows.second, m.second, y + m.first, y_first + kTileRows);
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

constexpr int64_t kDeepColumns = 512;  // of w and x, in one block

// Where the block of columns that begins at k ends. It has one scale, where w has any.
int64_t block_end(const Matrix& w, int64_t k) {
  const int64_t end = at_most(k + kDeepColumns, w.cols);
  if (w.dtype != DType::fp8_e4m3) return end;
  return at_most(end, (k / w.block_cols + 1) * w.block_cols);
}

// Columns [k, end) of up to 32 rows of w as tiles: [2][columns / 32][16 rows][32], the last columns padded
// with zeros. `prefetch`: of fp8, what stands further on in the rows is asked for.
void pack_weights(const Matrix& w, int64_t row, int64_t rows, int64_t k, int64_t end, bool prefetch,
                  bf16* out) {
  const int64_t tiles = (end - k + kTileDepth - 1) / kTileDepth;
  for (int64_t r = 0; r < rows; ++r) {
    bf16* to = out + (r / kTileRows * tiles * kTileRows + r % kTileRows) * kTileDepth;
    for (int64_t c = k; c < end; c += kTileDepth, to += kTileRows * kTileDepth) {
      _mm512_store_si512(to, row_columns(w, row + r, c, end));
      if (prefetch && w.dtype == DType::fp8_e4m3 && c % 64 == 0) {
        const auto* values = stored_row<fp8_e4m3>(w, row + r) + c;
        _mm_prefetch(reinterpret_cast<const char*>(values) + kPrefetchBytes, _MM_HINT_T1);
      }
    }
  }
}

// fp8: one block of columns under one scale at a time, its partial sums scaled and added up in f32.
void matmul_fp8(const PackedMatmulArgs& a) {
  const Matrix& w = *a.w;
  alignas(64) bf16 weights[kTileRows * kDeepColumns];
  alignas(64) float sums[2 * kTile], part[kTile];
  Tiles tiles;
  for (int64_t j = 0; j < a.n; j += kTileRows) {
    const int64_t rows = at_most(a.n - j, kTileRows);
    const float* row_scales[kTileRows];
    for (int64_t r = 0; r < rows; ++r) row_scales[r] = w.scale_row(a.first + j + r);
    for (int64_t k = 0, end = 0; k < w.cols; k = end) {
      end = block_end(w, k);
      pack_weights(w, a.first + j, rows, k, end, /*prefetch=*/true, weights);
      const int64_t block = k / w.block_cols;
      alignas(64) float scales[kTileRows] = {};
      for (int64_t r = 0; r < rows; ++r) scales[r] = row_scales[r][block];
      for (int64_t i = 0; i < a.m; i += kPackRows) {
        const int64_t m = at_most(a.m - i, kPackRows);
        tiles.shape(rows, 0, m, 0);
        _tile_zero(0);
        for (int64_t c = k; c < end; c += kTileDepth) {
          multiply({.a = {weights + (c - k) * kTileRows, nullptr},
                    .a_stride = kTileBytes,
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
      const int64_t m = at_most(a.m - i, kPackRows);
      const float* group = sums + i / kPackRows * kTile;
      if (m == 1) {
        Avx512::store(a.y[i] + a.y_first + j, Avx512::load(group), rows);
      } else {
        put_sums(group, rows, m, a.y + i, a.y_first + j);
      }
    }
  }
}

// Many rows of x: blocks of w that stay in the first-level cache go against blocks of x that stay in the
// second, and the sums wait in memory from one block of columns to the next. Each is added up as for few
// rows.
constexpr int64_t kManyRows = 2 * kPackRows;  // more than these
constexpr int64_t kWideRows = 512;            // of x, in one block

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
  auto* all_sums = reinterpret_cast<float*>(a.scratch);
  alignas(64) bf16 weights[2 * kTileRows * kDeepColumns];
  alignas(64) float part[kSums];
  Tiles tiles;
  for (int64_t from = 0; from < a.m; from += kWideRows) {
    const int64_t members = at_most(a.m - from, kWideRows);
    const bf16* x = a.x + from / kPackRows * a.group_stride;
    float* const* y = a.y + from;
    for (int64_t k = 0, end = 0; k < w.cols; k = end) {
      end = block_end(w, k);
      const int64_t steps = (end - k + kTileDepth - 1) / kTileDepth;
      float* sums = all_sums;
      for (int64_t j = 0; j < a.n; j += 2 * kTileRows) {
        const TwoTiles rows(a.n - j);
        pack_weights(w, a.first + j, rows.count(), k, end, /*prefetch=*/false, weights);
        float scales[2 * kTileRows];
        for (int64_t r = 0; scaled && r < rows.count(); ++r) {
          scales[r] = w.scale_row(a.first + j + r)[k / w.block_cols];
        }
        // What comes next: further rows, or the next columns of the first ones.
        const bool more_rows = j + 2 * kTileRows < a.n;
        const int64_t next_j = more_rows ? j + 2 * kTileRows : 0, next_k = more_rows ? k : end;
        const int64_t next_rows = next_k < w.cols ? TwoTiles(a.n - next_j).count() : 0;
        RowsAhead ahead(w, a.first + next_j, next_rows, next_k, at_most(next_k + end - k, w.cols),
                        (members + 2 * kPackRows - 1) / (2 * kPackRows) * steps);
        for (int64_t i = 0; i < members; i += 2 * kPackRows, sums += kSums) {
          const TwoTiles m(members - i);
          tiles.shape(rows.first, rows.second, m.first, m.second);
          if (k == 0 || scaled) {
            zero_sums(rows.both(), m.both());
          } else {
            load_sums(sums, rows.both(), m.both());
          }
          const bf16* x0 = x + i / kPackRows * a.group_stride;
          for (int64_t c = k; c < end; c += kTileDepth) {
            const bf16* tile = weights + (c - k) * kTileRows;
            ahead.ask();
            multiply({.a = {tile, rows.both() ? tile + steps * kTileRows * kTileDepth : nullptr},
                      .a_stride = kTileBytes,
                      .b = {x0 + c * m.first, m.both() ? x0 + a.group_stride + c * m.second : nullptr},
                      .b_stride = {m.first * 4, m.second * 4}});
          }
          store_tiles(scaled ? part : sums, rows.both(), m.both());
          for (int64_t t = 0; t < 4; ++t) {  // C after C
            const int64_t tile_rows = t < 2 ? rows.first : rows.second;
            const int64_t tile_m = t % 2 == 0 ? m.first : m.second;
            if (tile_rows == 0 || tile_m == 0) continue;
            float* tile = sums + t * kTile;
            if (scaled) {
              add_scaled_sums(part + t * kTile, scales + t / 2 * kTileRows, tile_rows, k == 0, tile);
            }
            if (end == w.cols) {
              put_sums(tile, tile_rows, tile_m, y + i + t % 2 * kPackRows, a.y_first + j + t / 2 * kTileRows);
            }
          }
        }
      }
    }
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

// A row of w, 32 columns from c on, as bf16; zeros outside.
__m512i combine_line(const CombineArgs& a, int64_t j, int64_t c) {
  return j < a.n ? row_columns(*a.w, a.first + j, c, a.cols) : _mm512_setzero_si512();
}

}  // namespace

namespace amx {

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

int64_t matmul_scratch_bytes(int64_t m, int64_t n) {
  if (m <= kManyRows) return 0;
  return round_up(n, 2 * kTileRows) * round_up(at_most(m, kWideRows), 2 * kPackRows) *
         static_cast<int64_t>(sizeof(float));
}

void matmul(const PackedMatmulArgs& a) {
  if (a.m > kManyRows) {
    matmul_many(a);
  } else if (a.w->dtype == DType::bf16) {
    matmul_bf16(a);
  } else {
    matmul_fp8(a);
  }
}

int64_t combine_scratch_bytes(int64_t m, int64_t n, int64_t cols) {
  return CombineScratch(m, n, cols, nullptr).bytes;
}

bool supports_combine(const Matrix& w, int64_t first) {
  if (w.dtype == DType::bf16) return true;
  return w.dtype == DType::fp8_e4m3 && first % kTileDepth == 0 && w.block_rows % kTileDepth == 0 &&
         w.block_cols % kTileDepth == 0;
}

// x's rows stand in A, w's rows by pairs in B; where w has scales, each block of its rows is added up by
// itself.
void combine(const CombineArgs& a, std::byte* scratch) {
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
      store_pairs(interleave(combine_line(a, j, c), combine_line(a, j + 1, c)), s.w + j * s.cols + c * 2);
    }
  }
  alignas(64) float part[kSums], sums[kSums];
  Tiles tiles;
  for (int64_t i = 0; i < a.m; i += 2 * kTileRows) {
    const TwoTiles m(a.m - i);
    tiles.shape(m.first, m.second, kTileRows, kTileRows);
    for (int64_t c = 0; c < a.cols; c += 2 * kTileRows) {
      for (int64_t j = 0, end = 0; j < a.n; j = end) {
        end =
            scaled ? at_most(((a.first + j) / w.block_rows + 1) * w.block_rows - a.first, s.depth) : s.depth;
        zero_sums(m.both(), true);
        for (int64_t k = j; k < end; k += kTileDepth) {
          const bf16* x = s.x + i * s.depth + k;
          const bf16* pairs = s.w + k * s.cols + c * 2;
          multiply({.a = {x, m.both() ? x + kTileRows * s.depth : nullptr},
                    .a_stride = s.depth * 2,
                    .b = {pairs, pairs + 2 * kTileRows},
                    .b_stride = {s.cols * 4, s.cols * 4}});
        }
        store_tiles(scaled ? part : sums, m.both(), true);
        if (!scaled) continue;
        const __m512 scale = Avx512::set(w.scale_row(a.first + j)[c / w.block_cols]);
        for (int64_t v = 0; v < (m.both() ? kSums : 2 * kTile); v += kTileRows) {
          const __m512 before = j == 0 ? Avx512::zero() : Avx512::load(sums + v);
          Avx512::store(sums + v, Avx512::fma(Avx512::load(part + v), scale, before));
        }
      }
      for (int64_t r = 0; r < m.count(); ++r) {
        const float* line = sums + r / kTileRows * 2 * kTile + r % kTileRows * kTileRows;
        for (int64_t half = 0; half < 2; ++half) {
          const int64_t at = c + half * kTileRows, columns = a.cols - at;
          if (columns <= 0) continue;
          Avx512::store(a.y[i + r] + at, Avx512::load(line + half * kTile), at_most(columns, kTileRows));
        }
      }
    }
  }
}

}  // namespace amx
}  // namespace indexshare::cpu
