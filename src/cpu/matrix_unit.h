// Products of bf16 by bf16 on what a machine has for them (AMX tiles, or vdpbf16ps where it is fast). A table
// without leaves the work to its vector kernels. Rounding: both factors are bf16, sums are f32 in a fixed
// order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "cpu/index_args.h"
#include "formats/matrix.h"

namespace indexshare::cpu {

/// Activations are packed by groups of this many rows.
inline constexpr int64_t kPackRows = 16;

struct PackedMatmulArgs {
  const bf16* x;         // ceil(m / 16) groups, as pack() wrote them
  int64_t group_stride;  // values from one group to the next
  int64_t m;             // rows of x
  const Matrix* w;       // one that supports() accepts
  int64_t first;         // the first row of w
  int64_t n;             // how many rows of w
  float* const* y;       // m rows; the results go to y[i][y_first .. y_first + n)
  int64_t y_first = 0;
  std::byte* scratch;  // matmul_scratch_bytes, 64-byte aligned
};

struct CombineArgs;  // cpu/kernels.h

struct AttendArgs {
  const float* const* q;  // heads rows of latent + rope values
  int64_t heads;          // at most 64
  int64_t latent, rope;
  const bf16* const* rows;  // n cache rows of latent + rope values
  int64_t n;                // >= 1
  float scale;
  float* const* out;   // heads rows of latent values
  std::byte* scratch;  // attend_scratch_bytes, 64-byte aligned
};

struct MatrixUnit {
  /// Whether matmul() takes this matrix: bf16, or fp8 by blocks of whole tiles.
  bool (*supports)(const Matrix& w);

  /// Values that pack() writes for m rows of k values.
  int64_t (*packed_values)(int64_t m, int64_t k);

  /// Rounds m <= 16 rows of x to bf16 and lays them out as matmul() reads them: m * 32 values for every 32
  /// columns, k padded with zeros.
  void (*pack)(const float* const* x, int64_t m, int64_t k, bf16* out);

  /// y[i][y_first + j] = sum_k x[i][k] * w[first + j][k].
  void (*matmul)(const PackedMatmulArgs&);
  int64_t (*matmul_scratch_bytes)(int64_t m, int64_t n);

  /// As Kernels::combine without `accumulate`, x rounded to bf16, where supports_combine() says so: bf16, or
  /// fp8 by blocks of whole tiles of which none begins inside one of the rows from `first` on.
  bool (*supports_combine)(const Matrix& w, int64_t first);
  void (*combine)(const CombineArgs&, std::byte* scratch);
  int64_t (*combine_scratch_bytes)(int64_t m, int64_t n, int64_t cols);

  /// out[h] = sum_s softmax_s(scale * q[h] . rows[s]) * rows[s][.. latent), with q and the softmax's
  /// numerators rounded to bf16.
  void (*attend)(const AttendArgs&);
  int64_t (*attend_scratch_bytes)(int64_t heads, int64_t latent, int64_t rope, int64_t n);

  /// As Kernels::index_scores_bf16 with queries in bf16; dim is a multiple of 32, heads one of 16 (where
  /// there are fewer: queries and weights of zero).
  void (*index_scores)(const IndexArgs<bf16, bf16>&);
};

}  // namespace indexshare::cpu
