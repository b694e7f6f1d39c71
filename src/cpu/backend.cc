#include "cpu/backend.h"

#include <cmath>

namespace indexshare::cpu {
namespace {

constexpr int64_t kMinParallelRows = 4;  // fewer rows of element-wise work are not worth a second thread

}  // namespace

CpuBackend::CpuBackend(const Kernels& kernels, int threads, FloatType compute, int nodes)
    : kernels_(kernels),
      compute_(compute),
      pool_(threads, nodes),
      scratch_(static_cast<size_t>(threads)),
      activations_(kernels),
      intermediate_(kernels),
      scorer_(kernels, compute) {}

void CpuBackend::for_rows(Tensor x, FunctionRef<void(int64_t row)> body) {
  if (x.rows < kMinParallelRows) {
    for (int64_t t = 0; t < x.rows; ++t) body(t);
  } else {
    pool_.run(x.rows, [&](int64_t t, int) { body(t); });
  }
}

void CpuBackend::embed(const Matrix& table, std::span<const int32_t> tokens, Tensor x) {
  for_rows(x, [&](int64_t t) { decode_row(table, tokens[static_cast<size_t>(t)], x.row(t)); });
}

void CpuBackend::rms_norm(Tensor x, std::span<const float> weight, float eps, Tensor y) {
  for_rows(x, [&](int64_t t) { kernels_.rms_norm(x.row(t), weight.data(), eps, x.cols, y.row(t)); });
}

void CpuBackend::layer_norm(Tensor x, std::span<const float> weight, std::span<const float> bias, float eps,
                            Tensor y) {
  for_rows(x, [&](int64_t t) {
    kernels_.layer_norm(x.row(t), weight.data(), bias.data(), eps, x.cols, y.row(t));
  });
}

void CpuBackend::add(Tensor x, Tensor y) {
  for_rows(x, [&](int64_t t) { kernels_.add_scaled(x.row(t), 1.0f, x.cols, y.row(t)); });
}

void CpuBackend::rotation(std::span<const int32_t> positions, std::span<const float> inverse_frequencies,
                          Rotation rotation) {
  for_rows(rotation.cos, [&](int64_t t) {
    const auto position = static_cast<float>(positions[static_cast<size_t>(t)]);
    for (int64_t i = 0; i < rotation.cos.cols; ++i) {
      const float angle = position * inverse_frequencies[static_cast<size_t>(i)];
      rotation.cos.row(t)[i] = std::cos(angle);
      rotation.sin.row(t)[i] = std::sin(angle);
    }
  });
}

void CpuBackend::rope(Rotation rotation, RopePairs pairs, int64_t heads, int64_t head_width, Tensor x) {
  const int64_t half = rotation.cos.cols;
  const int64_t step = pairs == RopePairs::interleaved ? 2 : 1;
  const int64_t partner = pairs == RopePairs::interleaved ? 1 : half;
  for_rows(x, [&](int64_t t) {
    const float* cos = rotation.cos.row(t);
    const float* sin = rotation.sin.row(t);
    for (int64_t head = 0; head < heads; ++head) {
      float* v = x.row(t) + head * head_width;
      for (int64_t i = 0; i < half; ++i) {
        float& a = v[i * step];
        float& b = v[i * step + partner];
        const float turned = a * cos[i] - b * sin[i];
        b = b * cos[i] + a * sin[i];
        a = turned;
      }
    }
  });
}

}  // namespace indexshare::cpu
