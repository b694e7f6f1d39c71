// A weight matrix in the format it is stored in.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"

namespace indexshare {

/// A [rows, cols] matrix, row-major, as the checkpoint stores it; the memory belongs to the checkpoint.
/// Element (i, j) of an fp8 matrix is e4m3(data[i, j]) * scales[i / block_rows, j / block_cols]
/// (quantization_config.weight_block_size; edge blocks may be partial).
struct Matrix {
  DType dtype = DType::f32;
  int64_t rows = 0;
  int64_t cols = 0;
  const std::byte* data = nullptr;
  const float* scales = nullptr;  // [ceil(rows / block_rows), ceil(cols / block_cols)], fp8 only
  int64_t block_rows = 0;
  int64_t block_cols = 0;

  int64_t row_bytes() const { return cols * dtype_bytes(dtype); }
  const std::byte* row(int64_t i) const { return data + i * row_bytes(); }
  int64_t scale_rows() const { return (rows + block_rows - 1) / block_rows; }
  int64_t scale_cols() const { return (cols + block_cols - 1) / block_cols; }
  const float* scale_row(int64_t i) const { return scales + i / block_rows * scale_cols(); }
  explicit operator bool() const { return data != nullptr; }
};

/// Writes row i of `matrix` as f32, `cols` values.
void decode_row(const Matrix& matrix, int64_t i, float* out);

}  // namespace indexshare
