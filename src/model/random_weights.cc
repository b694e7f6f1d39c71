#include "model/random_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "base/available_memory.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/units.h"
#include "model/parameters.h"
#include "model/weight_shapes.h"

namespace indexshare {
namespace {

constexpr int64_t kPatternValues =
    1 << 20;  // values that are drawn; every matrix repeats them, each from its own place

constexpr float kFp8Deviation = 64.0f;  // of fp8 values before their scale, well inside their range

uint64_t next(uint64_t& state) {  // splitmix64 (Steele, Lea, Flood, 2014)
  uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Roughly normal with standard deviation 1: the sum of four uniform numbers.
float draw(uint64_t& state) {
  const uint64_t bits = next(state);
  float sum = 0;
  for (int i = 0; i < 4; ++i) sum += static_cast<float>(bits >> (16 * i) & 0xffff) / 65536.0f;
  return (sum - 2.0f) * 1.7320508f;
}

// IEEE half nearest to x, for normal numbers and zero; the drawn values are never outside.
f16 to_f16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t sign = bits >> 16 & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude < 0x38800000u) return {static_cast<uint16_t>(sign)};
  return {static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13))};
}

// e4m3 nearest to x, for |x| <= 448.
fp8_e4m3 to_e4m3(float x) {
  uint8_t best = 0;
  for (uint8_t bits = 0; bits < 0x7f; ++bits) {
    if (std::abs(to_f32(fp8_e4m3{bits}) - std::abs(x)) < std::abs(to_f32(fp8_e4m3{best}) - std::abs(x)))
      best = bits;
  }
  return {static_cast<uint8_t>(best | (x < 0 ? 0x80 : 0))};
}

// Gives matrices memory of its own, and values.
class Source {
 public:
  explicit Source(uint64_t seed) : state_(seed) {
    pattern_.resize(static_cast<size_t>(kPatternValues));
    for (float& value : pattern_) value = draw(state_);
  }

  void fill(Matrix& m) {
    const int64_t values = m.rows * m.cols;
    std::byte* data = allocate(values * dtype_bytes(m.dtype));
    m.data = data;
    const float deviation = 1.0f / std::sqrt(static_cast<float>(m.cols));
    if (m.dtype == DType::fp8_e4m3) {
      const int64_t blocks = m.scale_rows() * m.scale_cols();
      auto* scales = reinterpret_cast<float*>(allocate(blocks * static_cast<int64_t>(sizeof(float))));
      if (scales != nullptr) std::fill_n(scales, blocks, deviation / kFp8Deviation);
      m.scales = scales;
    }
    if (data == nullptr) return;
    repeat(pattern(m.dtype, m.dtype == DType::fp8_e4m3 ? kFp8Deviation : deviation), dtype_bytes(m.dtype),
           data, values);
  }

  bool failed() const { return failed_; }
  std::shared_ptr<const void> storage() const { return storage_; }

 private:
  std::byte* allocate(int64_t bytes) {
    Memory block = Memory::allocate(bytes);
    std::byte* data = block.data();
    if (data == nullptr) failed_ = true;
    storage_->push_back(std::move(block));
    return data;
  }

  // The drawn values times `scale` in `dtype`.
  const std::vector<std::byte>& pattern(DType dtype, float scale) {
    std::vector<std::byte>& bytes = converted_[{dtype, scale}];
    if (bytes.empty()) {
      const auto size = static_cast<size_t>(dtype_bytes(dtype));
      bytes.resize(pattern_.size() * size);
      for (size_t i = 0; i < pattern_.size(); ++i) store(pattern_[i] * scale, dtype, bytes.data() + i * size);
    }
    return bytes;
  }

  // Writes `count` values of `size` bytes: the pattern, repeated from a place that differs between matrices.
  void repeat(const std::vector<std::byte>& pattern, int64_t size, std::byte* data, int64_t count) {
    auto place = static_cast<int64_t>(next(state_) % static_cast<uint64_t>(kPatternValues));
    for (int64_t done = 0; done < count; place = 0) {
      const int64_t n = std::min(count - done, kPatternValues - place);
      std::memcpy(data + done * size, pattern.data() + place * size, static_cast<size_t>(n * size));
      done += n;
    }
  }

  static void store(float x, DType dtype, std::byte* to) {
    switch (dtype) {
      case DType::bf16: *reinterpret_cast<bf16*>(to) = to_bf16(x); break;
      case DType::f16: *reinterpret_cast<f16*>(to) = to_f16(x); break;
      case DType::fp8_e4m3: *reinterpret_cast<fp8_e4m3*>(to) = to_e4m3(x); break;
      default: *reinterpret_cast<float*>(to) = x; break;
    }
  }

  uint64_t state_;
  bool failed_ = false;
  std::vector<float> pattern_;
  std::map<std::pair<DType, float>, std::vector<std::byte>> converted_;  // the pattern by type and scale
  std::shared_ptr<std::vector<Memory>> storage_ = std::make_shared<std::vector<Memory>>();
};

}  // namespace

Result<Weights> random_weights(const Config& config, DType dtype, uint64_t seed) {
  Weights weights = weight_shapes(config, dtype);
  weights.mtp.reset();
  const int64_t bytes = weight_bytes(config, weights).total();
  if (const auto available = available_memory(); available && bytes > *available) {
    return make_error("the weights of this model take {} in {}, but {} of memory are available",
                      bytes_text(bytes), dtype_name(dtype), bytes_text(*available));
  }
  Source source(seed);
  for_each_matrix(weights, [&](Matrix& matrix) {
    if (!source.failed() && (&matrix != &weights.lm_head || !config.tie_word_embeddings)) source.fill(matrix);
  });
  if (config.tie_word_embeddings) weights.lm_head = weights.embed_tokens;
  if (source.failed()) return make_error("no memory for the weights of this model in {}", dtype_name(dtype));
  weights.storage = source.storage();
  return weights;
}

}  // namespace indexshare
