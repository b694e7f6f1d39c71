#include "model/random_weights.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

#include "base/error.h"

namespace indexshare {
namespace {

constexpr int64_t kPatternValues =
    1 << 20;  // values that are drawn; every matrix repeats them, each from its own place

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

// Hands out matrices from memory of its own.
class Source {
 public:
  Source(DType dtype, uint64_t seed) : dtype_(dtype), state_(seed) {
    pattern_.resize(static_cast<size_t>(kPatternValues));
    for (float& value : pattern_) value = draw(state_);
  }

  Matrix matrix(int64_t rows, int64_t cols) {
    Matrix m;
    m.dtype = dtype_;
    m.rows = rows;
    m.cols = cols;
    std::byte* data = allocate(rows * cols * dtype_bytes(dtype_));
    m.data = data;
    const float scale = 1.0f / std::sqrt(static_cast<float>(cols));
    if (dtype_ == DType::fp8_e4m3) {
      m.block_rows = m.block_cols = 128;
      const int64_t blocks = (rows + 127) / 128 * m.scale_cols();
      auto* scales = reinterpret_cast<float*>(allocate(blocks * static_cast<int64_t>(sizeof(float))));
      if (scales != nullptr) std::fill_n(scales, blocks, scale / 64.0f);
      m.scales = scales;
    }
    if (data != nullptr) fill(data, rows * cols, dtype_ == DType::fp8_e4m3 ? 64.0f : scale);
    return m;
  }

  bool failed() const { return failed_; }
  std::shared_ptr<const void> storage() const { return storage_; }

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  using Blocks = std::vector<std::unique_ptr<std::byte, Free>>;

  std::byte* allocate(int64_t bytes) {
    auto* p = static_cast<std::byte*>(std::aligned_alloc(64, static_cast<size_t>((bytes + 63) / 64 * 64)));
    if (p == nullptr) failed_ = true;
    storage_->emplace_back(p);
    return p;
  }

  // The pattern times `scale`, repeated from a place that differs between matrices.
  void fill(std::byte* data, int64_t values, float scale) {
    const int64_t size = dtype_bytes(dtype_);
    std::vector<std::byte>& pattern = converted_[scale];
    if (pattern.empty()) {
      pattern.resize(pattern_.size() * static_cast<size_t>(size));
      for (size_t i = 0; i < pattern_.size(); ++i)
        store(pattern_[i] * scale, pattern.data() + i * static_cast<size_t>(size));
    }
    auto place = static_cast<int64_t>(next(state_) % static_cast<uint64_t>(kPatternValues));
    for (int64_t done = 0; done < values; place = 0) {
      const int64_t n = std::min(values - done, kPatternValues - place);
      std::memcpy(data + done * size, pattern.data() + place * size, static_cast<size_t>(n * size));
      done += n;
    }
  }

  void store(float x, std::byte* to) const {
    switch (dtype_) {
      case DType::bf16: *reinterpret_cast<bf16*>(to) = to_bf16(x); break;
      case DType::f16: *reinterpret_cast<f16*>(to) = to_f16(x); break;
      case DType::fp8_e4m3: *reinterpret_cast<fp8_e4m3*>(to) = to_e4m3(x); break;
      default: *reinterpret_cast<float*>(to) = x; break;
    }
  }

  DType dtype_;
  uint64_t state_;
  bool failed_ = false;
  std::vector<float> pattern_;
  std::map<float, std::vector<std::byte>> converted_;  // the pattern in dtype_, by scale
  std::shared_ptr<Blocks> storage_ = std::make_shared<Blocks>();
};

Vector ones(int64_t n) {
  return Vector(static_cast<size_t>(n), 1.0f);
}
Vector zeros(int64_t n) {
  return Vector(static_cast<size_t>(n), 0.0f);
}

MlpWeights random_mlp(Source& source, int64_t hidden, int64_t intermediate) {
  return {source.matrix(intermediate, hidden), source.matrix(intermediate, hidden),
          source.matrix(hidden, intermediate)};
}

AttentionWeights random_attention(Source& source, const Config& c, bool full) {
  AttentionWeights w;
  w.q_a_proj.weight = source.matrix(c.q_lora_rank, c.hidden_size);
  w.q_a_layernorm = ones(c.q_lora_rank);
  w.q_b_proj = source.matrix(c.num_attention_heads * c.qk_head_dim(), c.q_lora_rank);
  w.kv_a_proj_with_mqa.weight = source.matrix(c.latent_width(), c.hidden_size);
  w.kv_a_layernorm = ones(c.kv_lora_rank);
  w.kv_b_proj = source.matrix(c.num_attention_heads * (c.qk_nope_head_dim + c.v_head_dim), c.kv_lora_rank);
  w.o_proj.weight = source.matrix(c.hidden_size, c.num_attention_heads * c.v_head_dim);
  if (full) {
    w.indexer = {.wq_b = source.matrix(c.index_n_heads * c.index_head_dim, c.q_lora_rank),
                 .wk = source.matrix(c.index_head_dim, c.hidden_size),
                 .k_norm_weight = ones(c.index_head_dim),
                 .k_norm_bias = zeros(c.index_head_dim),
                 .weights_proj = source.matrix(c.index_n_heads, c.hidden_size)};
  }
  return w;
}

MoeWeights random_moe(Source& source, const Config& c) {
  MoeWeights w;
  w.gate = source.matrix(c.n_routed_experts, c.hidden_size);
  w.e_score_correction_bias = zeros(c.n_routed_experts);
  for (int64_t e = 0; e < c.n_routed_experts; ++e) {
    w.experts.push_back(random_mlp(source, c.hidden_size, c.moe_intermediate_size));
  }
  if (c.n_shared_experts > 0) {
    w.shared_experts = random_mlp(source, c.hidden_size, c.moe_intermediate_size * c.n_shared_experts);
  }
  return w;
}

}  // namespace

Result<Weights> random_weights(const Config& config, DType dtype, uint64_t seed) {
  Source source(dtype, seed);
  Weights weights;
  weights.embed_tokens = source.matrix(config.vocab_size, config.hidden_size);
  for (size_t layer = 0; layer < config.indexer_full.size() && !source.failed(); ++layer) {
    LayerWeights& w = weights.layers.emplace_back();
    w.input_layernorm = w.post_attention_layernorm = ones(config.hidden_size);
    w.self_attn = random_attention(source, config, config.indexer_full[layer]);
    if (config.mlp_sparse[layer]) {
      w.moe = random_moe(source, config);
    } else {
      w.mlp = random_mlp(source, config.hidden_size, config.intermediate_size);
    }
  }
  weights.norm = ones(config.hidden_size);
  weights.lm_head = source.matrix(config.vocab_size, config.hidden_size);
  if (source.failed()) return make_error("no memory for the weights of this model in {}", dtype_name(dtype));
  weights.storage = source.storage();
  return weights;
}

}  // namespace indexshare
