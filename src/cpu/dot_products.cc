// Products with weights by vdpbf16ps, of bf16 or of fp8 as bf16.
//
// An element of matmul()'s result is, for each block of kDeepColumns columns, one sum per lane over every
// 32nd pair of columns and one fixed reduction of the lanes, added up block after block, whatever stands
// beside it.
#include <type_traits>

#include "cpu/dot_kernels.h"
#include "cpu/dot_sums.h"
#include "cpu/kernels.h"

namespace indexshare::cpu {
namespace {

constexpr int kRows = 4;                // of x and of w in one tile: 16 sums
constexpr int64_t kDeepColumns = 2048;  // of both in one block: two tiles' rows fill the first-level cache
constexpr int64_t kWideRows = 96;       // of w that stay in the second-level cache while many rows of x go by
constexpr int kStreams = 8;             // rows of w that are read side by side for one of x

// The lanes of four sums added up pair by pair within each quarter of a register: [4 quarters][4 sums].
inline __m512 fold(const __m512 (&s)[kRows]) {
  const __m512 ab = Avx512::add(_mm512_unpacklo_ps(s[0], s[1]), _mm512_unpackhi_ps(s[0], s[1]));
  const __m512 cd = Avx512::add(_mm512_unpacklo_ps(s[2], s[3]), _mm512_unpackhi_ps(s[2], s[3]));
  const __m512d low = _mm512_unpacklo_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd));
  const __m512d high = _mm512_unpackhi_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd));
  return Avx512::add(_mm512_castpd_ps(low), _mm512_castpd_ps(high));
}

// The lanes of all sums added up: [M][4].
template <int M>
inline __m512 reduce(const __m512 (&sums)[M][kRows]) {
  __m512 quarters[4] = {Avx512::zero(), Avx512::zero(), Avx512::zero(), Avx512::zero()};
  for (int m = 0; m < M; ++m) quarters[m] = fold(sums[m]);
  auto halves = [](__m512 a, __m512 b) {
    return Avx512::add(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
  };
  const __m512 first = halves(quarters[0], quarters[1]);
  const __m512 second = halves(quarters[2], quarters[3]);
  return Avx512::add(_mm512_shuffle_f32x4(first, second, 0x88), _mm512_shuffle_f32x4(first, second, 0xdd));
}

// Columns [k, end) of a run of rows of w as bf16: where they stand, or widened from fp8 into scratch.
class WeightBlock {
 public:
  WeightBlock(const Matrix& w, int64_t first, int64_t rows, int64_t k, int64_t end, std::byte* scratch)
      : rows_(rows) {
    if (w.dtype == DType::bf16) {
      data_ = reinterpret_cast<const bf16*>(w.row(first)) + k;
      stride_ = w.row_bytes() / 2;
      return;
    }
    auto* out = reinterpret_cast<bf16*>(scratch);
    data_ = out;
    stride_ = kDeepColumns;
    for (int64_t r = 0; r < rows; ++r, out += stride_) {
      for (int64_t c = k; c < end; c += kTileDepth) {
        _mm512_storeu_si512(out + c - k, row_columns(w, first + r, c, end));
      }
    }
  }

  // Rows behind the last one stand for it, so that a tile always has four.
  const bf16* row(int64_t r) const { return data_ + (r < rows_ ? r : rows_ - 1) * stride_; }

 private:
  const bf16* data_ = nullptr;
  int64_t stride_ = 0, rows_;
};

// M rows of packed x, from column k on: row r stands at x + r * 32, its next 32 columns x_step values
// further.
struct PackedRows {
  const bf16* x;
  int64_t x_step;
};

// Sums of M rows of x by four rows of w over `columns` columns.
template <int M>
inline void add_columns(const PackedRows& x, int64_t from, const bf16* const (&w)[kRows], int64_t columns,
                        __m512 (&sums)[M][kRows]) {
  const bf16* at = x.x + from / kTileDepth * x.x_step;
  auto step = [&](auto load, int64_t c) {
    __m512i rows[kRows];
    for (int n = 0; n < kRows; ++n) rows[n] = load(w[n] + from + c);
    for (int m = 0; m < M; ++m) {
      const __m512i xs = _mm512_loadu_si512(at + m * kTileDepth);
      for (int n = 0; n < kRows; ++n) sums[m][n] = add_dots(sums[m][n], xs, rows[n]);
    }
    at += x.x_step;
  };
  int64_t c = 0;
  for (; c + kTileDepth <= columns; c += kTileDepth) {
    step([](const bf16* p) { return _mm512_loadu_si512(p); }, c);
  }
  if (c < columns) step([&](const bf16* p) { return load_columns(p, columns - c); }, c);
}

// One tile over columns [k, end) of w's rows [row, row + 4).
template <int M>
__m512 tile_sums(const PackedRows& x, const Matrix& w, int64_t row, const WeightBlock& block, int64_t r,
                 int64_t k, int64_t end) {
  const bf16* rows[kRows];
  for (int n = 0; n < kRows; ++n) rows[n] = block.row(r + n);
  __m512 sums[M][kRows] = {};
  if (w.dtype == DType::bf16) {
    add_columns<M>(x, 0, rows, end - k, sums);
    return reduce<M>(sums);
  }
  const float* scales[kRows];
  for (int n = 0; n < kRows; ++n) scales[n] = w.scale_row(at_most(row + n, w.rows - 1));
  for (int64_t c = k; c < end;) {  // one block of columns under one scale at a time
    const int64_t b = c / w.block_cols;
    const int64_t until = at_most((b + 1) * w.block_cols, end);
    __m512 part[M][kRows] = {};
    add_columns<M>(x, c - k, {rows[0], rows[1], rows[2], rows[3]}, until - c, part);
    for (int n = 0; n < kRows; ++n) {
      const __m512 scale = Avx512::set(scales[n][b]);
      for (int m = 0; m < M; ++m) sums[m][n] = Avx512::fma(part[m][n], scale, sums[m][n]);
    }
    c = until;
  }
  return reduce<M>(sums);
}

// Puts or adds the sums of a tile, [M][4], to the first n of four columns of y's rows.
template <int M>
void put_sums(__m512 sums, int64_t n, bool add, float* const* y, int64_t column) {
  alignas(64) float lines[16];
  Avx512::store(lines, sums);
  const auto mask = static_cast<__mmask8>((1u << n) - 1u);
  for (int m = 0; m < M; ++m) {
    float* to = y[m] + column;
    __m128 line = _mm_load_ps(lines + 4 * m);
    if (add) line = _mm_add_ps(_mm_maskz_loadu_ps(mask, to), line);
    _mm_mask_storeu_ps(to, mask, line);
  }
}

template <int M>
void multiply_rows(const PackedMatmulArgs& a, int64_t i, int64_t j, int64_t rows, const WeightBlock& block,
                   int64_t k, int64_t end) {
  const int64_t group = i / kPackRows, members = at_most(a.m - group * kPackRows, kPackRows);
  const PackedRows x = {a.x + group * a.group_stride + k * members + i % kPackRows * kTileDepth,
                        members * kTileDepth};
  for (int64_t r = 0; r < rows; r += kRows) {
    const __m512 sums = tile_sums<M>(x, *a.w, a.first + j + r, block, r, k, end);
    put_sums<M>(sums, at_most(rows - r, kRows), k > 0, a.y + i, a.y_first + j + r);
  }
}

// One row of x by columns [k, end) of n rows of w; the last one stands for those that are missing.
template <typename T, typename Load>
void add_row_sums(const bf16* x, const Matrix& w, int64_t row, int64_t n, int64_t k, int64_t end, Load load,
                  __m512 (&sums)[kStreams / kRows][kRows]) {
  constexpr bool scaled = std::is_same_v<T, fp8_e4m3>;
  const T* values[kStreams];
  for (int64_t r = 0; r < kStreams; ++r)
    values[r] = reinterpret_cast<const T*>(w.row(row + at_most(r, n - 1)));
  const int64_t run = scaled ? w.block_cols : w.cols;  // columns under one scale
  for (int64_t c = k; c < end;) {
    const int64_t b = c / run;
    const int64_t until = at_most((b + 1) * run, end);
    __m512 part[kStreams] = {};
    for (; c < until; c += kTileDepth) {
      const __m512i xs = _mm512_loadu_si512(x + c);
      for (int r = 0; r < kStreams; ++r) {
        part[r] = add_dots(part[r], xs, load(values[r] + c, until - c));
      }
    }
    c = until;
    for (int r = 0; r < kStreams; ++r) {
      __m512& sum = sums[r / kRows][r % kRows];
      sum =
          scaled ? Avx512::fma(part[r], Avx512::set(w.scale_row(row + at_most(r, n - 1))[b]), sum) : part[r];
    }
  }
}

// One row of x, as in decoding: rows of w are read side by side from end to end, not block by block.
template <typename T, typename Load>
void multiply_row(const PackedMatmulArgs& a, Load load) {
  for (int64_t j = 0; j < a.n; j += kStreams) {
    const int64_t n = at_most(a.n - j, kStreams);
    for (int64_t k = 0; k < a.w->cols; k += kDeepColumns) {
      __m512 sums[kStreams / kRows][kRows] = {};
      add_row_sums<T>(a.x, *a.w, a.first + j, n, k, at_most(k + kDeepColumns, a.w->cols), load, sums);
      float* const y = a.y[0] + a.y_first + j;
      const auto mask = static_cast<__mmask16>((1u << n) - 1u);
      const __m512 sum = reduce<kStreams / kRows>(sums);
      _mm512_mask_storeu_ps(y, mask, k == 0 ? sum : Avx512::add(_mm512_maskz_loadu_ps(mask, y), sum));
    }
  }
}

// Rows of w that go against all rows of x before the next ones do.
int64_t run_of(int64_t m) {
  return m > kPackRows ? kWideRows : kRows;
}

// Sums of M rows of x against C registers of columns of w from c on.
template <int M, int C>
void combine_tile(const CombineArgs& a, const bf16* x, int64_t x_stride, int64_t i, int64_t c) {
  const Matrix& w = *a.w;
  const bool scaled = w.dtype == DType::fp8_e4m3;
  __m512 sums[M][C] = {};
  for (int64_t j = 0, end = 0; j < a.n; j = end) {  // one block of rows under one scale at a time
    end = scaled ? at_most(((a.first + j) / w.block_rows + 1) * w.block_rows - a.first, a.n) : a.n;
    __m512 part[M][C] = {};
    for (int64_t p = j; p < end; p += 2) {
      __m512i columns[C];
      for (int v = 0; v < C; v += 2) {
        auto line = [&](int64_t row) {
          return row < a.n ? row_columns(w, a.first + row, c + v * 16, a.cols) : _mm512_setzero_si512();
        };
        const PairLine pairs = interleave(line(p), line(p + 1));
        columns[v] = pairs.low;
        columns[v + 1] = pairs.high;
      }
      for (int m = 0; m < M; ++m) {
        const __m512i pair = every_lane(x + (i + m) * x_stride + p);
        for (int v = 0; v < C; ++v) part[m][v] = add_dots(part[m][v], pair, columns[v]);
      }
    }
    for (int v = 0; v < C; ++v) {
      const float scale = scaled ? w.scale_row(a.first + j)[(c + v * 16) / w.block_cols] : 1.0f;
      for (int m = 0; m < M; ++m) sums[m][v] = Avx512::fma(part[m][v], Avx512::set(scale), sums[m][v]);
    }
  }
  for (int m = 0; m < M; ++m) {
    for (int v = 0; v < C; ++v) {
      const int64_t at = c + v * 16;
      if (at < a.cols) Avx512::store(a.y[i + m] + at, sums[m][v], at_most(a.cols - at, 16));
    }
  }
}

template <int M>
void combine_rows(const CombineArgs& a, const bf16* x, int64_t x_stride, int64_t i) {
  int64_t c = 0;
  if constexpr (M == 1) {  // longer pieces of w's rows, as there is little to do with each
    for (; c + 256 <= a.cols; c += 256) combine_tile<1, 16>(a, x, x_stride, i, c);
  }
  for (; c < a.cols; c += 32) combine_tile<M, 2>(a, x, x_stride, i, c);
}

constexpr int kCombineRows = 8;  // of x: 16 sums with 32 columns

}  // namespace

namespace dots {

int64_t packed_values(int64_t m, int64_t k) {
  return m * round_up(k, kTileDepth);
}

void pack(const float* const* x, int64_t m, int64_t k, bf16* out) {
  for (int64_t i = 0; i < k; i += kTileDepth) {
    for (int64_t r = 0; r < m; ++r, out += kTileDepth) _mm512_storeu_si512(out, to_pairs(x[r] + i, k - i));
  }
}

bool supports(const Matrix& w) {
  if (w.dtype == DType::bf16) return true;
  return w.dtype == DType::fp8_e4m3 && (w.block_cols % kTileDepth == 0 || w.block_cols >= w.cols);
}

int64_t matmul_scratch_bytes(int64_t m, int64_t n) {
  return round_up(at_most(n, run_of(m)), kRows) * kDeepColumns * static_cast<int64_t>(sizeof(bf16));
}

void matmul(const PackedMatmulArgs& a) {
  if (a.m == 1) {
    if (a.w->dtype == DType::fp8_e4m3) return multiply_row<fp8_e4m3>(a, widen);
    return multiply_row<bf16>(a, [](const bf16* p, int64_t n) {
      return n >= kTileDepth ? _mm512_loadu_si512(p) : load_columns(p, n);
    });
  }
  const int64_t run = run_of(a.m);
  for (int64_t j = 0; j < a.n; j += run) {
    const int64_t rows = at_most(a.n - j, run);
    for (int64_t k = 0; k < a.w->cols; k += kDeepColumns) {
      const int64_t end = at_most(k + kDeepColumns, a.w->cols);
      const WeightBlock block(*a.w, a.first + j, rows, k, end, a.scratch);
      for (int64_t i = 0; i < a.m; i += kRows) {
        switch (at_most(a.m - i, kRows)) {
          case 1: multiply_rows<1>(a, i, j, rows, block, k, end); break;
          case 2: multiply_rows<2>(a, i, j, rows, block, k, end); break;
          case 3: multiply_rows<3>(a, i, j, rows, block, k, end); break;
          default: multiply_rows<4>(a, i, j, rows, block, k, end); break;
        }
      }
    }
  }
}

bool supports_combine(const Matrix& w, int64_t first) {
  if (w.dtype == DType::bf16) return true;
  return w.dtype == DType::fp8_e4m3 && first % 2 == 0 && w.block_rows % 2 == 0 &&
         w.block_cols % kTileDepth == 0;
}

int64_t combine_scratch_bytes(int64_t m, int64_t n, int64_t /*cols*/) {
  return m * round_up(n, kTileDepth) * static_cast<int64_t>(sizeof(bf16));
}

void combine(const CombineArgs& a, std::byte* scratch) {
  const int64_t stride = round_up(a.n, kTileDepth);
  auto* x = reinterpret_cast<bf16*>(scratch);
  for (int64_t i = 0; i < a.m; ++i) {
    for (int64_t j = 0; j < a.n; j += kTileDepth) {
      _mm512_storeu_si512(x + i * stride + j, to_pairs(a.x[i] + j, a.n - j));
    }
  }
  int64_t i = 0;
  for (; i + kCombineRows <= a.m; i += kCombineRows) combine_rows<kCombineRows>(a, x, stride, i);
  for (; i < a.m; ++i) combine_rows<1>(a, x, stride, i);
}

}  // namespace dots
}  // namespace indexshare::cpu
