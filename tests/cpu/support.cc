#include "cpu/support.h"

#include <algorithm>
#include <cstring>

namespace indexshare::cpu {

Bounded bounded_dot(std::span<const float> x, std::span<const float> w) {
  double sum = 0, magnitude = 0;
  for (size_t k = 0; k < x.size(); ++k) {
    const double product = static_cast<double>(x[k]) * static_cast<double>(w[k]);
    sum += product;
    magnitude += std::abs(product);
  }
  const auto n = static_cast<int64_t>(x.size());
  return {sum, gamma_of(n) * magnitude + static_cast<double>(n) * kSubnormal};
}

Bounded bounded_dot(std::span<const Bounded> x, std::span<const float> w) {
  double sum = 0, magnitude = 0, inherited = 0;
  for (size_t k = 0; k < x.size(); ++k) {
    const auto weight = static_cast<double>(w[k]);
    sum += x[k].value * weight;
    inherited += x[k].error * std::abs(weight);
    magnitude += (std::abs(x[k].value) + x[k].error) * std::abs(weight);
  }
  const auto n = static_cast<int64_t>(x.size());
  return {sum, inherited + gamma_of(n) * magnitude + static_cast<double>(n) * kSubnormal};
}

std::vector<float> Random::normals(int64_t n) {
  std::vector<float> values(static_cast<size_t>(n));
  for (float& x : values) x = normal();
  return values;
}

std::vector<float> Random::integers(int64_t n, int64_t largest) {
  std::vector<float> values(static_cast<size_t>(n));
  for (float& x : values) x = static_cast<float>(below(2 * largest + 1) - largest);
  return values;
}

std::string Storage::name() const {
  std::string text(dtype_name(dtype));
  if (block_cols > 0) text += '_' + std::to_string(block_rows) + 'x' + std::to_string(block_cols);
  return text;
}

std::span<const Storage> all_storages() {
  static const std::vector<Storage> storages = {
      {DType::f32},
      {DType::bf16},
      {DType::f16},
      {DType::fp8_e4m3, 128, 128},
      {DType::fp8_e4m3, 16, 16},
      {DType::fp8_e4m3, 5, 10},
      {DType::fp8_e4m3, 1 << 16, 1 << 16},
  };
  return storages;
}

StoredMatrix random_matrix(const Storage& storage, int64_t rows, int64_t cols, Random& random) {
  StoredMatrix m;
  const int64_t width = dtype_bytes(storage.dtype);
  m.bytes.resize(static_cast<size_t>((rows * cols + 1) * width));
  std::byte* data = m.bytes.data() + width;
  m.view = {.dtype = storage.dtype,
            .rows = rows,
            .cols = cols,
            .data = data,
            .block_rows = storage.block_rows,
            .block_cols = storage.block_cols};
  if (storage.dtype == DType::fp8_e4m3) {
    m.scales.resize(
        static_cast<size_t>((rows + storage.block_rows - 1) / storage.block_rows * m.view.scale_cols()));
    for (float& scale : m.scales) scale = 0.01f + std::abs(random.normal());
    m.view.scales = m.scales.data();
  }
  m.values.resize(static_cast<size_t>(rows * cols));
  for (int64_t i = 0; i < rows * cols; ++i) {
    float& value = m.values[static_cast<size_t>(i)];
    std::byte* stored = data + i * width;
    switch (storage.dtype) {
      case DType::f32:
        value = random.normal();
        std::memcpy(stored, &value, sizeof(value));
        break;
      case DType::bf16: {
        const bf16 x = to_bf16(random.normal());
        std::memcpy(stored, &x, sizeof(x));
        value = to_f32(x);
        break;
      }
      case DType::f16: {  // any finite pattern below 2 in magnitude
        const f16 x{static_cast<uint16_t>(random.below(0x4000) | random.below(2) << 15)};
        std::memcpy(stored, &x, sizeof(x));
        value = to_f32(x);
        break;
      }
      case DType::fp8_e4m3: {
        const fp8_e4m3 x{static_cast<uint8_t>(random.below(0x7f) | random.below(2) << 7)};
        std::memcpy(stored, &x, sizeof(x));
        value = to_f32(x) * m.view.scale_row(i / cols)[i % cols / storage.block_cols];
        break;
      }
      case DType::i32: break;
    }
  }
  return m;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace indexshare::cpu
