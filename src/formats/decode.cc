#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "formats/format.h"
#include "formats/matrix.h"

namespace indexshare {
namespace {

template <typename T>
void decode_values(const std::byte* source, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, source + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    out[i] = to_f32(value);
  }
}

constexpr Format kFormats[] = {
    {DType::f32, 1, 4, false, decode_values<float>},
    {DType::bf16, 1, 2, false, decode_values<bf16>},
    {DType::f16, 1, 2, false, decode_values<f16>},
    {DType::fp8_e4m3, 1, 1, true, decode_values<fp8_e4m3>},
};

}  // namespace

const Format* find_format(DType dtype) {
  const auto* row = std::ranges::find(kFormats, dtype, &Format::dtype);
  return row != std::end(kFormats) ? row : nullptr;
}

void decode_row(const Matrix& matrix, int64_t i, float* out) {
  const Format* format = find_format(matrix.dtype);
  if (format == nullptr) std::abort();  // such a matrix is never bound
  format->decode(matrix.row(i), matrix.cols, out);
  if (!format->scaled) return;
  const float* scales = matrix.scale_row(i);
  for (int64_t j = 0; j < matrix.cols; j += matrix.block_cols) {
    const int64_t end = std::min(j + matrix.block_cols, matrix.cols);
    const float scale = scales[j / matrix.block_cols];
    for (int64_t k = j; k < end; ++k) out[k] *= scale;
  }
}

}  // namespace indexshare
