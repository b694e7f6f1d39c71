// Scores index keys for the tokens of a batch, in the form that the cache keeps the keys in and with the
// instructions that the kernel table has.
#pragma once

#include "base/buffer.h"
#include "base/thread_pool.h"
#include "cpu/kernels.h"
#include "cpu/top_k.h"
#include "ops/backend.h"

namespace indexshare::cpu {

/// Writes an index key in int8 into its place; `key` as the plain keys would hold it.
void write_int8_key(const CacheLayout& layout, const float* key, int64_t position, const Int8Keys& place);

class IndexScorer {
 public:
  IndexScorer(const Kernels& kernels, FloatType compute) : kernels_(kernels), compute_(compute) {}

  /// What prepare() comes to hold for batches of `rows` tokens, and what it holds now.
  static int64_t planned_bytes(const Kernels& kernels, FloatType compute, DType cache_dtype, IndexKeys form,
                               int64_t rows, int64_t heads, int64_t dim);
  int64_t held_bytes() const;

  /// Makes the queries [T, heads * dim] and head weights [T, heads] of a batch ready for a full layer's keys.
  /// The tensors and the batch must stay until the last push.
  void prepare(ThreadPool& pool, int64_t layer, const Batch& batch, Tensor queries, Tensor weights);

  /// Pushes the scores of the keys [begin, end) of row t's sequence; begin is the first key of a block. Keys
  /// that cannot be among the best may be left out. Different rows may be pushed from different threads.
  void push(int64_t t, int64_t begin, int64_t end, TopK& top_k) const;

 private:
  void prepare_tiles(int64_t t);
  void prepare_int8(int64_t t);

  // Keys of one page, from a block's first on. `more`: those behind come next.
  struct Keys {
    const SequenceCache& cache;
    int64_t first, count;
    bool more;

    int64_t blocks() const { return (count + kIndexBlock - 1) / kIndexBlock; }
  };
  template <typename Key, typename Query>
  IndexArgs<Query, Key> against(const Query* q, const float* w, int64_t heads, const Keys& keys,
                                float* scores) const;
  void score(int64_t t, const Keys& keys, float* scores) const;
  void score_int8(int64_t t, const Keys& keys, float* scores) const;
  void push_screened(int64_t t, const Keys& keys, TopK& top_k) const;

  const Kernels& kernels_;
  FloatType compute_;

  int64_t layer_ = 0;
  const Batch* batch_ = nullptr;
  Tensor queries_, weights_;
  int64_t heads_ = 0, dim_ = 0;
  DType dtype_ = DType::f32;
  IndexKeys form_ = IndexKeys::plain;
  bool on_matrix_unit_ = false;

  int64_t tile_heads_ = 0;      // padded to whole tiles
  Buffer<bf16> tile_queries_;   // [T, tile_heads, dim]
  Buffer<float> tile_weights_;  // [T, tile_heads]

  int64_t int8_dim_ = 0;         // padded to whole quads
  Buffer<int8_t> int8_queries_;  // [T, heads, int8_dim]
  Buffer<int32_t> int8_sums_;    // [T, heads]
  Buffer<float> int8_weights_;   // [T, heads], times the scales of the queries

  // screened: a score in int8 is off by at most norm_factor * the key's norm + error_factor * its error
  struct Bound {
    float norm_factor, error_factor;
  };
  Buffer<Bound> bounds_;  // [T]
};

}  // namespace indexshare::cpu
