// The inner loops of the CPU backend: one table of functions per instruction set, chosen at run time.
// The scalar table is the specification; every other must agree with it within rounding, and with itself
// bit for bit whatever the shape of the call: each output element has one fixed order of operations.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/dtype.h"
#include "cpu/index_args.h"
#include "cpu/matrix_unit.h"
#include "formats/matrix.h"
#include "indexshare/result.h"

namespace indexshare::cpu {

/// Rows of x against rows of a matrix. Pointers need no more than the alignment of their elements.
struct MatmulArgs {
  const float* const* x;  // m rows of w->cols values
  int64_t m;
  const Matrix* w;
  int64_t first;    // the first row of w
  int64_t n;        // how many rows of w
  float* const* y;  // m rows; the results go to y[i][y_first .. y_first + n)
  int64_t y_first = 0;
};

/// Rows of x against columns of a matrix.
struct CombineArgs {
  const float* const* x;  // m rows of n values
  int64_t m;
  const Matrix* w;
  int64_t first;    // the first row of w
  int64_t n;        // how many rows of w
  int64_t cols;     // how many of its columns, from the first
  float* const* y;  // m rows of cols values
  bool accumulate;  // add to y instead of setting it
};

struct Kernels {
  const char* name;

  /// y[i][y_first + j] = sum_k x[i][k] * w[first + j][k], for each storage format.
  void (*matmul)(const MatmulArgs&);

  /// y[i][c] = sum_j x[i][j] * w[first + j][c], j in order.
  void (*combine)(const CombineArgs&);

  /// y = x / sqrt(mean(x^2) + eps) * weight  (RMSNorm). y may be x.
  void (*rms_norm)(const float* x, const float* weight, float eps, int64_t n, float* y);

  /// y = (x - mean(x)) / sqrt(var(x) + eps) * weight + bias  (LayerNorm, biased variance). y may be x.
  void (*layer_norm)(const float* x, const float* weight, const float* bias, float eps, int64_t n, float* y);

  /// y += factor * x
  void (*add_scaled)(const float* x, float factor, int64_t n, float* y);

  /// y = silu(gate) * up, silu(g) = g / (1 + exp(-g)).
  void (*swiglu)(const float* gate, const float* up, int64_t n, float* y);

  /// x = exp(scale * (x - max(x))); returns the sum of the results. n >= 1.
  float (*softmax)(float* x, int64_t n, float scale);

  /// y = x * factor
  void (*scale)(const float* x, float factor, int64_t n, float* y);

  /// y = x rounded to bf16 and back. y may be x.
  void (*round_bf16)(const float* x, int64_t n, float* y);

  /// f32 <- stored values.
  void (*decode_bf16)(const bf16* x, int64_t n, float* y);
  /// stored values <- f32, to the nearest even.
  void (*encode_bf16)(const float* x, int64_t n, bf16* y);

  /// scores[b * 16 + s] = sum_h w[h] * relu(sum_i q[h][i] * key[b][s][i]). MODEL: I[t, s].
  void (*index_scores_f32)(const IndexArgs<float, float>&);
  void (*index_scores_bf16)(const IndexArgs<float, bf16>&);
  /// scores[s] = scales[s] * sum_h w[h] * relu(q[h] . keys[s]), the dots in whole numbers.
  void (*index_scores_int8)(const Int8IndexArgs&);

  /// Products of bf16 on a matrix unit; null where the table has none. Used in bf16 compute.
  const MatrixUnit* matrix_unit = nullptr;
};

/// The tables compiled into this program that the machine can run, slowest (scalar) first.
std::span<const Kernels* const> available_kernels();

/// The fastest available table, or the one that the environment variable INDEXSHARE_ISA names.
Result<const Kernels*> choose_kernels();

}  // namespace indexshare::cpu
