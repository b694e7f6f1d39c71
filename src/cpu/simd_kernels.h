// The SIMD kernels, written once over a vector type V and compiled once per instruction set; include it in
// one source file per instruction set only. Everything here has internal linkage, so that no function
// compiled for one instruction set can be called where another is meant.
//
// V gives: F (a vector of kLanes f32), load and store (a count means a partial vector, zero elsewhere) from
// each stored type, arithmetic, and the sizes of its register blocks.
//
// Reproducibility: an output element is always one sum per lane, over k = lane, lane + kLanes, ..., and one
// fixed reduction of the lanes, whatever the number of rows and columns asked for together.
#pragma once

#include <cmath>
#include <type_traits>

#include "cpu/kernel_tables.h"

namespace indexshare::cpu {
namespace {

template <typename T>
const T* stored_row(const Matrix& w, int64_t row) {
  return reinterpret_cast<const T*>(w.row(row));
}

template <typename T>
constexpr bool kScaled = std::is_same_v<T, fp8_e4m3>;

// M rows of x against N rows of w from `row` on; writes y[m][j .. j + N).
template <typename V, typename T, int M, int N>
void dot_tile(const float* const* x, const Matrix& w, int64_t row, float* const* y, int64_t j) {
  using F = typename V::F;
  const T* rows[N];
  for (int n = 0; n < N; ++n) rows[n] = stored_row<T>(w, row + n);
  F sums[M][N];
  for (int m = 0; m < M; ++m) {
    for (int n = 0; n < N; ++n) sums[m][n] = V::zero();
  }
  const int64_t run = kScaled<T> ? w.block_cols : w.cols;  // columns under one scale
  for (int64_t k = 0; k < w.cols;) {
    const int64_t end = k + run < w.cols ? k + run : w.cols;
    F scales[N];
    if constexpr (kScaled<T>) {
      for (int n = 0; n < N; ++n) scales[n] = V::set(w.scale_row(row + n)[k / run]);
    }
    auto step = [&](auto... count) {
      F values[N];
      for (int n = 0; n < N; ++n) {
        values[n] = V::load(rows[n] + k, count...);
        if constexpr (kScaled<T>) values[n] = V::mul(values[n], scales[n]);
      }
      for (int m = 0; m < M; ++m) {
        const F xs = V::load(x[m] + k, count...);
        for (int n = 0; n < N; ++n) sums[m][n] = V::fma(xs, values[n], sums[m][n]);
      }
    };
    for (; k + V::kLanes <= end; k += V::kLanes) step();
    if (k < end) step(end - k);
    k = end;
  }
  for (int m = 0; m < M; ++m) {
    for (int n = 0; n < N; ++n) y[m][j + n] = V::sum(sums[m][n]);
  }
}

// All rows of x against N rows of w, at most M rows at a time.
template <typename V, typename T, int M, int N>
void dot_rows(const MatmulArgs& a, int64_t i, int64_t j) {
  for (; i + M <= a.m; i += M) dot_tile<V, T, M, N>(a.x + i, *a.w, a.first + j, a.y + i, a.y_first + j);
  if constexpr (M > 1) {
    if (i < a.m) dot_rows<V, T, M - 1, N>(a, i, j);
  }
}

template <typename V, typename T>
void matmul_of(const MatmulArgs& a) {
  int64_t j = 0;
  if (a.m == 1) {  // decoding: more rows of w in flight hide the latency of the sums
    for (; j + 8 <= a.n; j += 8) dot_tile<V, T, 1, 8>(a.x, *a.w, a.first + j, a.y, a.y_first + j);
  }
  for (; j + V::kDotCols <= a.n; j += V::kDotCols) dot_rows<V, T, V::kDotRows, V::kDotCols>(a, 0, j);
  for (; j < a.n; ++j) dot_rows<V, T, V::kDotRows, 1>(a, 0, j);
}

template <typename V>
void matmul(const MatmulArgs& a) {
  switch (a.w->dtype) {
    case DType::f32: return matmul_of<V, float>(a);
    case DType::bf16: return matmul_of<V, bf16>(a);
    case DType::f16: return matmul_of<V, f16>(a);
    case DType::fp8_e4m3: return matmul_of<V, fp8_e4m3>(a);
    case DType::i32: return;
  }
}

// The scales of kLanes columns from `col` on, where the edge of a block may fall among them.
template <typename V>
typename V::F mixed_scales(const Matrix& w, int64_t row, int64_t col) {
  float scales[V::kLanes];
  for (int64_t i = 0; i < V::kLanes; ++i) {
    const int64_t c = col + i < w.cols ? col + i : w.cols - 1;
    scales[i] = w.scale_row(row)[c / w.block_cols];
  }
  return V::load(scales);
}

// M rows of x against C vectors of columns of w; `count` is given for a partial last vector.
template <typename V, typename T, int M, int C, typename... Count>
void combine_tile(const CombineArgs& a, int64_t i, int64_t c, Count... count) {
  using F = typename V::F;
  F sums[M][C];
  for (int m = 0; m < M; ++m) {
    for (int v = 0; v < C; ++v) {
      sums[m][v] = a.accumulate ? V::load(a.y[i + m] + c + v * V::kLanes, count...) : V::zero();
    }
  }
  [[maybe_unused]] const bool one_scale = kScaled<T> && a.w->block_cols % V::kLanes == 0;  // to a vector
  for (int64_t j = 0; j < a.n; ++j) {
    const T* row = stored_row<T>(*a.w, a.first + j);
    F values[C];
    for (int v = 0; v < C; ++v) {
      const int64_t col = c + v * V::kLanes;
      values[v] = V::load(row + col, count...);
      if constexpr (kScaled<T>) {
        const F scales = one_scale ? V::set(a.w->scale_row(a.first + j)[col / a.w->block_cols])
                                   : mixed_scales<V>(*a.w, a.first + j, col);
        values[v] = V::mul(values[v], scales);
      }
    }
    for (int m = 0; m < M; ++m) {
      const F xs = V::set(a.x[i + m][j]);
      for (int v = 0; v < C; ++v) sums[m][v] = V::fma(xs, values[v], sums[m][v]);
    }
  }
  for (int m = 0; m < M; ++m) {
    for (int v = 0; v < C; ++v) V::store(a.y[i + m] + c + v * V::kLanes, sums[m][v], count...);
  }
}

template <typename V, typename T, int M>
void combine_rows(const CombineArgs& a, int64_t i) {
  for (; i + M <= a.m; i += M) {
    int64_t c = 0;
    for (; c + V::kCombineVecs * V::kLanes <= a.cols; c += V::kCombineVecs * V::kLanes) {
      combine_tile<V, T, M, V::kCombineVecs>(a, i, c);
    }
    for (; c + V::kLanes <= a.cols; c += V::kLanes) combine_tile<V, T, M, 1>(a, i, c);
    if (c < a.cols) combine_tile<V, T, M, 1>(a, i, c, a.cols - c);
  }
  if constexpr (M > 1) {
    if (i < a.m) combine_rows<V, T, M - 1>(a, i);
  }
}

template <typename V>
void combine(const CombineArgs& a) {
  switch (a.w->dtype) {
    case DType::f32: return combine_rows<V, float, V::kCombineRows>(a, 0);
    case DType::bf16: return combine_rows<V, bf16, V::kCombineRows>(a, 0);
    case DType::f16: return combine_rows<V, f16, V::kCombineRows>(a, 0);
    case DType::fp8_e4m3: return combine_rows<V, fp8_e4m3, V::kCombineRows>(a, 0);
    case DType::i32: return;
  }
}

// Calls body(offset) for whole vectors and body(offset, count) for the rest of n values.
template <typename V, typename Body>
void for_each_vector(int64_t n, Body body) {
  int64_t i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes) body(i);
  if (i < n) body(i, n - i);
}

template <typename V>
void rms_norm(const float* x, const float* weight, float eps, int64_t n, float* y) {
  auto squares = V::zero();
  for_each_vector<V>(n, [&](int64_t i, auto... count) {
    const auto v = V::load(x + i, count...);
    squares = V::fma(v, v, squares);
  });
  const auto factor = V::set(1.0f / std::sqrt(V::sum(squares) / static_cast<float>(n) + eps));
  for_each_vector<V>(n, [&](int64_t i, auto... count) {
    const auto normed = V::mul(V::load(x + i, count...), factor);
    V::store(y + i, V::mul(normed, V::load(weight + i, count...)), count...);
  });
}

template <typename V>
void layer_norm(const float* x, const float* weight, const float* bias, float eps, int64_t n, float* y) {
  auto total = V::zero();
  for_each_vector<V>(n, [&](int64_t i, auto... count) { total = V::add(total, V::load(x + i, count...)); });
  const float mean_value = V::sum(total) / static_cast<float>(n);
  const auto mean = V::set(mean_value);
  auto squares = V::zero();
  int64_t i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes) {
    const auto v = V::sub(V::load(x + i), mean);
    squares = V::fma(v, v, squares);
  }
  float square_sum = V::sum(squares);
  for (; i < n; ++i) square_sum += (x[i] - mean_value) * (x[i] - mean_value);  // zero lanes are no zeros here
  const auto factor = V::set(1.0f / std::sqrt(square_sum / static_cast<float>(n) + eps));
  for_each_vector<V>(n, [&](int64_t k, auto... count) {
    const auto normed = V::mul(V::sub(V::load(x + k, count...), mean), factor);
    V::store(y + k, V::fma(normed, V::load(weight + k, count...), V::load(bias + k, count...)), count...);
  });
}

template <typename V>
void add_scaled(const float* x, float factor, int64_t n, float* y) {
  const auto factors = V::set(factor);
  for_each_vector<V>(n, [&](int64_t i, auto... count) {
    V::store(y + i, V::fma(factors, V::load(x + i, count...), V::load(y + i, count...)), count...);
  });
}

template <typename V>
void scale(const float* x, float factor, int64_t n, float* y) {
  for_each_vector<V>(n, [&](int64_t i, auto... count) {
    V::store(y + i, V::mul(V::load(x + i, count...), V::set(factor)), count...);
  });
}

// e^x = 2^n * e^r with n = round(x / ln 2): |r| <= ln(2) / 2, a Taylor polynomial of degree 7 (error below
// 1 ulp), and 2^n in two factors so that the whole range down to subnormals and up to infinity comes out.
template <typename V>
typename V::F exp(typename V::F x) {
  x = V::min(V::set(89.0f), V::max(V::set(-104.0f), x));  // in this order of operands a NaN passes
  const auto n = V::round(V::mul(x, V::set(1.44269504f)));
  auto r = V::fma(n, V::set(-0.693359375f), x);
  r = V::fma(n, V::set(2.12194440e-4f), r);
  auto p = V::set(1.0f / 5040);
  for (const float c : {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f}) {
    p = V::fma(p, r, V::set(c));
  }
  const auto half = V::round(V::mul(n, V::set(0.5f)));
  return V::mul(V::mul(p, V::pow2(half)), V::pow2(V::sub(n, half)));
}

template <typename V>
void swiglu(const float* gate, const float* up, int64_t n, float* y) {
  for_each_vector<V>(n, [&](int64_t i, auto... count) {
    const auto g = V::load(gate + i, count...);
    const auto silu = V::div(g, V::add(V::set(1.0f), exp<V>(V::sub(V::zero(), g))));
    V::store(y + i, V::mul(silu, V::load(up + i, count...)), count...);
  });
}

template <typename V>
float softmax(float* x, int64_t n, float scale) {
  auto tops = V::set(x[0]);
  int64_t i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes) tops = V::max(tops, V::load(x + i));
  float top = V::largest(tops);
  for (; i < n; ++i) top = x[i] > top ? x[i] : top;

  const auto max = V::set(top);
  const auto factor = V::set(scale);
  auto sums = V::zero();
  i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes) {
    const auto e = exp<V>(V::mul(factor, V::sub(V::load(x + i), max)));
    V::store(x + i, e);
    sums = V::add(sums, e);
  }
  float sum = V::sum(sums);
  if (i < n) {
    V::store(x + i, exp<V>(V::mul(factor, V::sub(V::load(x + i, n - i), max))), n - i);
    for (; i < n; ++i) sum += x[i];
  }
  return sum;
}

template <typename V>
void round_bf16(const float* x, int64_t n, float* y) {
  for_each_vector<V>(n, [&](int64_t i, auto... count) {
    V::store(y + i, V::round_bf16(V::load(x + i, count...)), count...);
  });
}

template <typename V>
void decode_bf16(const bf16* x, int64_t n, float* y) {
  for_each_vector<V>(n,
                     [&](int64_t i, auto... count) { V::store(y + i, V::load(x + i, count...), count...); });
}

template <typename V>
void encode_bf16(const float* x, int64_t n, bf16* y) {
  int64_t i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes) V::store(y + i, V::load(x + i));
  for (; i < n; ++i) y[i] = to_bf16(x[i]);
}

// Adds the scores of H heads to those of one block of keys.
template <typename V, typename T, int H>
void index_tile(const float* q, const float* w, int64_t dim, const T* block,
                typename V::F (&scores)[kIndexBlock / V::kLanes]) {
  using F = typename V::F;
  constexpr int kVecs = kIndexBlock / V::kLanes;
  F dots[H][kVecs];
  for (int h = 0; h < H; ++h) {
    for (int v = 0; v < kVecs; ++v) dots[h][v] = V::zero();
  }
  int64_t i = 0;
  for (; i + 2 <= dim; i += 2) {
    F even[kVecs], odd[kVecs];
    for (int v = 0; v < kVecs; ++v)
      V::load_pairs(block + i * kIndexBlock + v * 2 * V::kLanes, even[v], odd[v]);
    for (int h = 0; h < H; ++h) {
      const F q0 = V::set(q[h * dim + i]);
      const F q1 = V::set(q[h * dim + i + 1]);
      for (int v = 0; v < kVecs; ++v) {
        dots[h][v] = V::fma(q1, odd[v], V::fma(q0, even[v], dots[h][v]));
      }
    }
  }
  if (i < dim) {
    for (int v = 0; v < kVecs; ++v) {
      F even, odd;
      V::load_pairs(block + i * kIndexBlock + v * 2 * V::kLanes, even, odd);
      for (int h = 0; h < H; ++h) dots[h][v] = V::fma(V::set(q[h * dim + i]), even, dots[h][v]);
    }
  }
  for (int h = 0; h < H; ++h) {
    for (int v = 0; v < kVecs; ++v) {
      // max(0, dot) in this order of operands: a NaN stays one
      scores[v] = V::fma(V::set(w[h]), V::max(V::zero(), dots[h][v]), scores[v]);
    }
  }
}

template <typename V, typename T, int H>
void index_heads(const float* q, const float* w, int64_t h, int64_t heads, int64_t dim, const T* block,
                 typename V::F (&scores)[kIndexBlock / V::kLanes]) {
  for (; h + H <= heads; h += H) index_tile<V, T, H>(q + h * dim, w + h, dim, block, scores);
  if constexpr (H > 1) {
    if (h < heads) index_heads<V, T, H / 2>(q, w, h, heads, dim, block, scores);
  }
}

// The scores of B blocks, head by head: where heads are few, the sums of several blocks hide how long an
// addition takes.
template <typename V, typename T, int B>
void index_blocks(const IndexArgs<float, T>& a, const T* keys, float* scores) {
  using F = typename V::F;
  constexpr int kVecs = kIndexBlock / V::kLanes;
  const int64_t block_values = (a.dim + 1) / 2 * 2 * kIndexBlock;
  F sums[B][kVecs];
  for (int b = 0; b < B; ++b) {
    for (int v = 0; v < kVecs; ++v) sums[b][v] = V::zero();
  }
  for (int64_t h = 0; h < a.heads; ++h) {
    const float* q = a.q + h * a.dim;
    F dots[B][kVecs];
    for (int b = 0; b < B; ++b) {
      for (int v = 0; v < kVecs; ++v) dots[b][v] = V::zero();
    }
    for (int64_t i = 0; i < a.dim; i += 2) {
      const bool pair = i + 1 < a.dim;
      const F q0 = V::set(q[i]);
      const F q1 = V::set(pair ? q[i + 1] : 0.0f);
      for (int b = 0; b < B; ++b) {
        for (int v = 0; v < kVecs; ++v) {
          F even, odd;
          V::load_pairs(keys + b * block_values + i * kIndexBlock + v * 2 * V::kLanes, even, odd);
          dots[b][v] = V::fma(q0, even, dots[b][v]);
          if (pair) dots[b][v] = V::fma(q1, odd, dots[b][v]);
        }
      }
    }
    for (int b = 0; b < B; ++b) {
      for (int v = 0; v < kVecs; ++v) {
        sums[b][v] = V::fma(V::set(a.w[h]), V::max(V::zero(), dots[b][v]), sums[b][v]);
      }
    }
  }
  for (int b = 0; b < B; ++b) {
    for (int v = 0; v < kVecs; ++v) V::store(scores + b * kIndexBlock + v * V::kLanes, sums[b][v]);
  }
}

template <typename V, typename T>
void index_scores(const IndexArgs<float, T>& a) {
  constexpr int kVecs = kIndexBlock / V::kLanes;
  const int64_t block_values = (a.dim + 1) / 2 * 2 * kIndexBlock;
  int64_t b = 0;
  if (a.heads < V::kIndexHeads) {
    for (; b + 4 <= a.blocks; b += 4) {
      index_blocks<V, T, 4>(a, a.keys + b * block_values, a.scores + b * kIndexBlock);
    }
  }
  for (; b < a.blocks; ++b) {
    typename V::F sums[kVecs];
    for (int v = 0; v < kVecs; ++v) sums[v] = V::zero();
    index_heads<V, T, V::kIndexHeads>(a.q, a.w, 0, a.heads, a.dim, a.keys + b * block_values, sums);
    for (int v = 0; v < kVecs; ++v) V::store(a.scores + b * kIndexBlock + v * V::kLanes, sums[v]);
  }
}

// Adds w * relu(q . key) of H heads to the sums of one block of keys in int8.
template <typename V, int H>
void int8_tile(const Int8IndexArgs& a, int64_t h, const int8_t* block,
               typename V::F (&sums)[kIndexBlock / V::kLanes]) {
  constexpr int kVecs = kIndexBlock / V::kLanes;
  typename V::I dots[H][kVecs];
  for (int i = 0; i < H; ++i) {
    for (int v = 0; v < kVecs; ++v) dots[i][v] = V::first_dot(a.q_sums[h + i]);
  }
  for (int64_t i = 0; i < a.dim; i += 4) {
    typename V::Quads keys[kVecs];
    for (int v = 0; v < kVecs; ++v) keys[v] = V::load_quads(block + (i * kIndexBlock + v * 4 * V::kLanes));
    for (int n = 0; n < H; ++n) {
      const auto q = V::set_quad(a.q + (h + n) * a.dim + i);
      for (int v = 0; v < kVecs; ++v) dots[n][v] = V::add_dot(dots[n][v], keys[v], q);
    }
  }
  for (int n = 0; n < H; ++n) {
    const auto weight = V::set(a.w[h + n]);
    for (int v = 0; v < kVecs; ++v)
      sums[v] = V::fma(weight, V::max(V::zero(), V::to_float(dots[n][v])), sums[v]);
  }
}

template <typename V, int H>
void int8_heads(const Int8IndexArgs& a, int64_t h, const int8_t* block,
                typename V::F (&sums)[kIndexBlock / V::kLanes]) {
  for (; h + H <= a.heads; h += H) int8_tile<V, H>(a, h, block, sums);
  if constexpr (H > 1) {
    if (h < a.heads) int8_heads<V, H / 2>(a, h, block, sums);
  }
}

template <typename V>
void index_scores_int8(const Int8IndexArgs& a) {
  constexpr int kVecs = kIndexBlock / V::kLanes;
  for (int64_t b = 0; b < a.blocks; ++b) {
    typename V::F sums[kVecs];
    for (int v = 0; v < kVecs; ++v) sums[v] = V::zero();
    int8_heads<V, V::kIndexHeads>(a, 0, a.keys + b * kIndexBlock * a.dim, sums);
    for (int v = 0; v < kVecs; ++v) {
      const int64_t key = b * kIndexBlock + v * V::kLanes;
      V::store(a.scores + key, V::mul(V::load(a.scales + key), sums[v]));
    }
  }
}

template <typename V>
constexpr Kernels simd_table(const char* name) {
  return {
      .name = name,
      .matmul = matmul<V>,
      .combine = combine<V>,
      .rms_norm = rms_norm<V>,
      .layer_norm = layer_norm<V>,
      .add_scaled = add_scaled<V>,
      .swiglu = swiglu<V>,
      .softmax = softmax<V>,
      .scale = scale<V>,
      .round_bf16 = round_bf16<V>,
      .decode_bf16 = decode_bf16<V>,
      .encode_bf16 = encode_bf16<V>,
      .index_scores_f32 = index_scores<V, float>,
      .index_scores_bf16 = index_scores<V, bf16>,
      .index_scores_int8 = index_scores_int8<V>,
  };
}

}  // namespace
}  // namespace indexshare::cpu
