// The specification of every kernel: plain loops, in the order of the formula.
#include <cmath>

#include "cpu/kernel_tables.h"

namespace indexshare::cpu {
namespace {

// Element (row, col) of a matrix as f32.
float element(const Matrix& w, int64_t row, int64_t col) {
  const std::byte* values = w.row(row);
  switch (w.dtype) {
    case DType::f32: return reinterpret_cast<const float*>(values)[col];
    case DType::bf16: return to_f32(reinterpret_cast<const bf16*>(values)[col]);
    case DType::f16: return to_f32(reinterpret_cast<const f16*>(values)[col]);
    case DType::fp8_e4m3:
      return to_f32(reinterpret_cast<const fp8_e4m3*>(values)[col]) * w.scale_row(row)[col / w.block_cols];
    case DType::i32: break;
  }
  return 0.0f;
}

void matmul(const MatmulArgs& a) {
  for (int64_t i = 0; i < a.m; ++i) {
    for (int64_t j = 0; j < a.n; ++j) {
      float sum = 0.0f;
      for (int64_t k = 0; k < a.w->cols; ++k) sum += a.x[i][k] * element(*a.w, a.first + j, k);
      a.y[i][a.y_first + j] = sum;
    }
  }
}

void combine(const CombineArgs& a) {
  for (int64_t i = 0; i < a.m; ++i) {
    for (int64_t c = 0; c < a.cols; ++c) {
      float sum = a.accumulate ? a.y[i][c] : 0.0f;
      for (int64_t j = 0; j < a.n; ++j) sum += a.x[i][j] * element(*a.w, a.first + j, c);
      a.y[i][c] = sum;
    }
  }
}

void rms_norm(const float* x, const float* weight, float eps, int64_t n, float* y) {
  float sum = 0.0f;
  for (int64_t i = 0; i < n; ++i) sum += x[i] * x[i];
  const float factor = 1.0f / std::sqrt(sum / static_cast<float>(n) + eps);
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * factor * weight[i];
}

void layer_norm(const float* x, const float* weight, const float* bias, float eps, int64_t n, float* y) {
  float sum = 0.0f;
  for (int64_t i = 0; i < n; ++i) sum += x[i];
  const float mean = sum / static_cast<float>(n);
  float squares = 0.0f;
  for (int64_t i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
  const float factor = 1.0f / std::sqrt(squares / static_cast<float>(n) + eps);
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * factor * weight[i] + bias[i];
}

void add_scaled(const float* x, float factor, int64_t n, float* y) {
  for (int64_t i = 0; i < n; ++i) y[i] += factor * x[i];
}

void swiglu(const float* gate, const float* up, int64_t n, float* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = gate[i] / (1.0f + std::exp(-gate[i])) * up[i];
}

float softmax(float* x, int64_t n, float scale) {
  float max = x[0];
  for (int64_t i = 1; i < n; ++i) max = x[i] > max ? x[i] : max;
  float sum = 0.0f;
  for (int64_t i = 0; i < n; ++i) {
    x[i] = std::exp(scale * (x[i] - max));
    sum += x[i];
  }
  return sum;
}

void scale(const float* x, float factor, int64_t n, float* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * factor;
}

void round_bf16(const float* x, int64_t n, float* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = round_to_bf16(x[i]);
}

void decode_bf16(const bf16* x, int64_t n, float* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = to_f32(x[i]);
}

void encode_bf16(const float* x, int64_t n, bf16* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = to_bf16(x[i]);
}

template <typename T>
void index_scores(const IndexArgs<float, T>& a) {
  const int64_t block_values = (a.dim + 1) / 2 * 2 * kIndexBlock;
  for (int64_t key = 0; key < a.blocks * kIndexBlock; ++key) {
    const T* block = a.keys + key / kIndexBlock * block_values;
    float score = 0.0f;
    for (int64_t h = 0; h < a.heads; ++h) {
      float dot = 0.0f;
      for (int64_t i = 0; i < a.dim; ++i) {
        dot += a.q[h * a.dim + i] * to_f32(block[index_key_offset(key % kIndexBlock, i)]);
      }
      score += a.w[h] * (dot < 0.0f ? 0.0f : dot);  // a NaN stays one
    }
    a.scores[key] = score;
  }
}

void index_scores_int8(const Int8IndexArgs& a) {
  for (int64_t key = 0; key < a.blocks * kIndexBlock; ++key) {
    const int8_t* block = a.keys + key / kIndexBlock * kIndexBlock * a.dim;
    float score = 0.0f;
    for (int64_t h = 0; h < a.heads; ++h) {
      int32_t dot = 0;
      for (int64_t i = 0; i < a.dim; ++i) {
        dot += a.q[h * a.dim + i] * block[int8_key_offset(key % kIndexBlock, i)];
      }
      score += a.w[h] * static_cast<float>(dot < 0 ? 0 : dot);
    }
    a.scores[key] = a.scales[key] * score;
  }
}

}  // namespace

const Kernels& scalar_kernels() {
  static const Kernels table = {
      .name = "scalar",
      .matmul = matmul,
      .combine = combine,
      .rms_norm = rms_norm,
      .layer_norm = layer_norm,
      .add_scaled = add_scaled,
      .swiglu = swiglu,
      .softmax = softmax,
      .scale = scale,
      .round_bf16 = round_bf16,
      .decode_bf16 = decode_bf16,
      .encode_bf16 = encode_bf16,
      .index_scores_f32 = index_scores<float>,
      .index_scores_bf16 = index_scores<bf16>,
      .index_scores_int8 = index_scores_int8,
  };
  return table;
}

}  // namespace indexshare::cpu
