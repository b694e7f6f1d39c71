// A view of f32 activations: [rows, cols] with a row stride. It owns nothing and never outlives a call.
#pragma once

#include <cstdint>

namespace indexshare {

struct Tensor {
  float* data = nullptr;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t stride = 0;  // values from one row to the next

  Tensor() = default;
  Tensor(float* values, int64_t row_count, int64_t col_count)
      : data(values), rows(row_count), cols(col_count), stride(col_count) {}

  float* row(int64_t i) const { return data + i * stride; }

  /// Columns [first, first + count) of every row.
  Tensor columns(int64_t first, int64_t count) const {
    Tensor view = *this;
    view.data += first;
    view.cols = count;
    return view;
  }
};

}  // namespace indexshare
