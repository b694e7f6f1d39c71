#include "cpu/index_scorer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/round_up.h"

namespace indexshare::cpu {
namespace {

constexpr int64_t kTileDepth = 32, kTileHeads = 16;  // MatrixUnit::index_scores
constexpr int64_t kQuad = 4;                         // Kernels::index_scores_int8
constexpr float kSlack = 1.0001f;                    // for the roundings in computing a bound
constexpr float kUnderflow = 1e-30f;                 // more than what products too small for f32 add up to

bool uses_matrix_unit(const Kernels& kernels, FloatType compute, DType dtype, IndexKeys form, int64_t dim) {
  return compute == FloatType::bf16 && kernels.matrix_unit != nullptr && form != IndexKeys::int8 &&
         dtype == DType::bf16 && dim % kTileDepth == 0;
}

// Whole numbers in [-127, 127] that stand for values: value = scale * number.
struct Int8Scale {
  float scale;    // NaN where a value is not finite
  float inverse;  // 0 where all numbers are 0

  Int8Scale(const float* x, int64_t n) {
    float largest = 0.0f;
    bool finite = true;
    for (int64_t i = 0; i < n; ++i) {
      finite = finite && std::isfinite(x[i]);
      largest = std::max(largest, std::abs(x[i]));
    }
    scale = largest / 127.0f;
    inverse = 1.0f / scale;
    if (!finite || !std::isfinite(inverse)) {  // or so small that its inverse is too large
      scale = finite ? 0.0f : std::numeric_limits<float>::quiet_NaN();
      inverse = 0.0f;
    }
  }

  int8_t number(float x) const {
    if (inverse == 0.0f) return 0;
    return static_cast<int8_t>(std::clamp(std::nearbyint(x * inverse), -127.0f, 127.0f));
  }
};

// The length of a vector and how far its rounding lies from it, both rather too large than too small.
struct Rounded {
  double squares = 0, errors = 0;

  void add(float x, float scale, int8_t number) {
    const auto value = static_cast<double>(x);
    const double error = value - static_cast<double>(scale) * number;
    squares += value * value;
    errors += error * error;
  }
  float length() const { return static_cast<float>(std::sqrt(squares)) * kSlack; }
  float error() const { return static_cast<float>(std::sqrt(errors)) * kSlack; }
};

}  // namespace

void write_int8_key(const CacheLayout& layout, const float* key, int64_t position, const Int8Keys& block) {
  const Int8Scale scale(key, layout.index_width);
  const int64_t s = position % kIndexBlock;
  Rounded rounded;
  for (int64_t i = 0; i < layout.index_width; ++i) {
    const int8_t number = scale.number(key[i]);
    block.keys[int8_key_offset(s, i)] = number;
    rounded.add(key[i], scale.scale, number);
  }
  block.scales[s] = scale.scale;
  if (block.norms == nullptr) return;
  block.norms[s] = rounded.length();
  block.errors[s] = rounded.error();
}

int64_t IndexScorer::planned_bytes(const Kernels& kernels, FloatType compute, DType cache_dtype,
                                   IndexKeys form, int64_t rows, int64_t heads, int64_t dim) {
  constexpr int64_t kValue = sizeof(float);
  int64_t bytes = 0;
  if (uses_matrix_unit(kernels, compute, cache_dtype, form, dim)) {
    bytes += rows * round_up(heads, kTileHeads) * (dim * static_cast<int64_t>(sizeof(bf16)) + kValue);
  }
  if (form != IndexKeys::plain) {
    bytes += rows * (heads * (round_up(dim, kQuad) + 2 * kValue) + static_cast<int64_t>(sizeof(Bound)));
  }
  return bytes;
}

int64_t IndexScorer::held_bytes() const {
  return tile_queries_.bytes() + tile_weights_.bytes() + int8_queries_.bytes() + int8_sums_.bytes() +
         int8_weights_.bytes() + bounds_.bytes();
}

void IndexScorer::prepare(ThreadPool& pool, int64_t layer, const Batch& batch, Tensor queries,
                          Tensor weights) {
  layer_ = layer;
  batch_ = &batch;
  queries_ = queries;
  weights_ = weights;
  heads_ = weights.cols;
  dim_ = queries.cols / weights.cols;
  const CacheLayout& layout = batch.segments.front().cache->layout();
  dtype_ = layout.dtype;
  form_ = layout.index_keys;

  on_matrix_unit_ = uses_matrix_unit(kernels_, compute_, dtype_, form_, dim_);
  if (on_matrix_unit_) {
    tile_heads_ = round_up(heads_, kTileHeads);
    tile_queries_.resize(queries.rows * tile_heads_ * dim_);
    tile_weights_.resize(queries.rows * tile_heads_);
  }
  if (form_ != IndexKeys::plain) {
    int8_dim_ = round_up(dim_, kQuad);
    int8_queries_.resize(queries.rows * heads_ * int8_dim_);
    int8_sums_.resize(queries.rows * heads_);
    int8_weights_.resize(queries.rows * heads_);
    bounds_.resize(queries.rows);
  }
  pool.run(queries.rows, [&](int64_t t, int) {
    if (on_matrix_unit_) prepare_tiles(t);
    if (form_ != IndexKeys::plain) prepare_int8(t);
  });
}

void IndexScorer::prepare_tiles(int64_t t) {
  bf16* q = tile_queries_.data() + t * tile_heads_ * dim_;
  kernels_.encode_bf16(queries_.row(t), heads_ * dim_, q);
  std::fill(q + heads_ * dim_, q + tile_heads_ * dim_, bf16{});
  float* w = tile_weights_.data() + t * tile_heads_;
  std::copy_n(weights_.row(t), heads_, w);
  std::fill(w + heads_, w + tile_heads_, 0.0f);
}

// The bound: for a head with query q, rounded to r, and a key k, rounded to l,
//   |q . k - r . l| <= |q - r| |k| + |r| |k - l|,
// relu does not widen it, and both ways of computing a score add the roundings of sums in f32.
void IndexScorer::prepare_int8(int64_t t) {
  const auto roundings = static_cast<double>(dim_ + heads_ + 8) * 0x1p-22;
  double norm_factor = 0, error_factor = 0;
  for (int64_t h = 0; h < heads_; ++h) {
    const float* q = queries_.row(t) + h * dim_;
    int8_t* numbers = int8_queries_.data() + (t * heads_ + h) * int8_dim_;
    const Int8Scale scale(q, dim_);
    Rounded rounded;
    int32_t sum = 0;
    for (int64_t i = 0; i < dim_; ++i) {
      numbers[i] = scale.number(q[i]);
      sum += numbers[i];
      rounded.add(q[i], scale.scale, numbers[i]);
    }
    std::fill(numbers + dim_, numbers + int8_dim_, int8_t{0});
    const float weight = weights_.row(t)[h];
    int8_sums_[t * heads_ + h] = sum;
    int8_weights_[t * heads_ + h] = weight * scale.scale;
    const auto length = static_cast<double>(rounded.length());
    auto error = static_cast<double>(rounded.error());
    if (on_matrix_unit_) error += length * 0x1p-8;  // there the queries are rounded to bf16
    const double magnitude = std::abs(static_cast<double>(weight));
    norm_factor += magnitude * (error + roundings * length);
    error_factor += magnitude * (length + error);
  }
  bounds_[t] = {static_cast<float>(norm_factor) * kSlack, static_cast<float>(error_factor) * kSlack};
}

void IndexScorer::push(int64_t t, int64_t begin, int64_t end, TopK& top_k) const {
  const SequenceCache& cache = *batch_->segment(t).cache;
  float scores[kPageTokens];
  while (begin < end) {
    const int64_t page_end = std::min((begin / kPageTokens + 1) * kPageTokens, end);
    const Keys keys = {cache, begin, page_end - begin, page_end < end};
    begin = page_end;
    if (form_ == IndexKeys::screened) {
      push_screened(t, keys, top_k);
      continue;
    }
    if (form_ == IndexKeys::plain) {
      score(t, keys, scores);
    } else {
      score_int8(t, keys, scores);
    }
    top_k.push(scores, keys.count, keys.first);
  }
}

// The scores in int8 plus their bounds tell which blocks may hold one of the best keys: only those are scored
// exactly. A NaN tells nothing.
void IndexScorer::push_screened(int64_t t, const Keys& keys, TopK& top_k) const {
  float most[kPageTokens], scores[kIndexBlock];
  const bool screen = top_k.is_full();
  if (screen) {
    score_int8(t, keys, most);
    const Int8Keys stored = keys.cache.int8_block(layer_, keys.first);
    const Bound bound = bounds_[t];
    for (int64_t i = 0; i < keys.count; ++i) {
      most[i] += bound.norm_factor * stored.norms[i] + bound.error_factor * stored.errors[i] + kUnderflow;
    }
  }
  for (int64_t i = 0; i < keys.count; i += kIndexBlock) {
    const int64_t count = std::min(kIndexBlock, keys.count - i);
    if (screen) {
      const float worst = top_k.worst_score();
      bool hopeless = true;
      for (int64_t j = i; j < i + count; ++j) hopeless = hopeless && most[j] < worst;
      if (hopeless) continue;
    }
    score(t, {keys.cache, keys.first + i, count, false}, scores);
    top_k.push(scores, count, keys.first + i);
  }
}

template <typename Key, typename Query>
IndexArgs<Query, Key> IndexScorer::against(const Query* q, const float* w, int64_t heads, const Keys& keys,
                                           float* scores) const {
  auto block = [&](int64_t position) {
    return reinterpret_cast<const Key*>(keys.cache.index_block(layer_, position));
  };
  return {.q = q,
          .w = w,
          .heads = heads,
          .dim = dim_,
          .keys = block(keys.first),
          .blocks = keys.blocks(),
          .scores = scores,
          .next = keys.more ? block(keys.first + keys.count) : nullptr};
}

void IndexScorer::score(int64_t t, const Keys& keys, float* scores) const {
  const float* q = queries_.row(t);
  const float* w = weights_.row(t);
  if (on_matrix_unit_) {
    kernels_.matrix_unit->index_scores(against<bf16>(tile_queries_.data() + t * tile_heads_ * dim_,
                                                     tile_weights_.data() + t * tile_heads_, tile_heads_,
                                                     keys, scores));
  } else if (dtype_ == DType::bf16) {
    kernels_.index_scores_bf16(against<bf16>(q, w, heads_, keys, scores));
  } else {
    kernels_.index_scores_f32(against<float>(q, w, heads_, keys, scores));
  }
}

void IndexScorer::score_int8(int64_t t, const Keys& keys, float* scores) const {
  const Int8Keys stored = keys.cache.int8_block(layer_, keys.first);
  kernels_.index_scores_int8(
      {.q = int8_queries_.data() + t * heads_ * int8_dim_,
       .q_sums = int8_sums_.data() + t * heads_,
       .w = int8_weights_.data() + t * heads_,
       .heads = heads_,
       .dim = int8_dim_,
       .keys = stored.keys,
       .scales = stored.scales,
       .blocks = keys.blocks(),
       .scores = scores,
       .next = keys.more ? keys.cache.int8_block(layer_, keys.first + keys.count).keys : nullptr});
}

}  // namespace indexshare::cpu
