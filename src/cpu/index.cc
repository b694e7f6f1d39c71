// The lightning indexer: writing index keys, scoring every earlier token, keeping the best k (MODEL: 3.3).
#include <algorithm>
#include <numeric>

#include "cpu/backend.h"
#include "cpu/block_sizes.h"

namespace indexshare::cpu {
namespace {

// Keys that are scored at a time where several tokens go over them, a part of a page.
constexpr int64_t kStep = 4 * kIndexBlock;

// A single token's keys are shared among threads from this many on.
constexpr int64_t kMinSplitKeys = 2048;

}  // namespace

void CpuBackend::append_index_keys(int64_t layer, const Batch& batch, Tensor keys) {
  const CacheLayout& layout = batch.segments.front().cache->layout();
  key_.resize(keys.cols);
  for (int64_t t = 0; t < keys.rows; ++t) {
    const int64_t position = batch.position(t);
    const SequenceCache& cache = *batch.segment(t).cache;
    const float* key = keys.row(t);
    if (layout.dtype == DType::bf16) {  // keys in int8 come from the rounded values, too
      kernels_.round_bf16(key, keys.cols, key_.data());
      key = key_.data();
    }
    if (layout.index_keys != IndexKeys::plain) {
      write_int8_key(layout, key, position, cache.int8_block(layer, position));
    }
    if (layout.index_keys == IndexKeys::int8) continue;
    std::byte* block = cache.index_block(layer, position);
    for (int64_t i = 0; i < keys.cols; ++i) {
      const int64_t offset = index_key_offset(position % kIndexBlock, i);
      if (layout.dtype == DType::bf16) {
        reinterpret_cast<bf16*>(block)[offset] = to_bf16(key[i]);
      } else {
        reinterpret_cast<float*>(block)[offset] = key[i];
      }
    }
  }
}

void CpuBackend::select_top_k(int64_t layer, const Batch& batch, Tensor queries, Tensor weights, int64_t k,
                              Selection& selection) {
  const int64_t heads = weights.cols;
  const int64_t dim = queries.cols / heads;
  int64_t longest = 0;
  scored_.clear();
  for (int64_t t = 0; t < batch.rows(); ++t) {
    const int64_t keys = batch.position(t) + 1;
    longest = std::max(longest, keys);
    if (keys > k) scored_.push_back(static_cast<int32_t>(t));
    if (keys > k) profile_.add_flops(2 * heads * dim * keys);
  }
  selection.resize(batch.rows(), std::min(k, longest));
  for (int64_t t = 0; t < batch.rows(); ++t) {
    const int64_t keys = batch.position(t) + 1;
    if (keys > k) continue;
    std::iota(selection.row(t), selection.row(t) + keys, 0);
    selection.set_count(t, keys);
  }

  if (scored_.empty()) return;
  scorer_.prepare(pool_, layer, batch, queries, weights);
  const auto rows = std::ssize(scored_);
  if (rows >= pool_.threads()) {
    // Many tokens: each thread takes groups of neighbours over all their keys, step by step.
    const int64_t group = std::clamp<int64_t>(rows / (4 * pool_.threads()), 1, kIndexGroupRows);
    pool_.run((rows + group - 1) / group, [&](int64_t item, int worker) {
      Scratch& own = scratch(worker);
      const std::span<const int32_t> members(scored_.data() + item * group,
                                             static_cast<size_t>(std::min(group, rows - item * group)));
      if (own.top_k.size() < members.size()) own.top_k.resize(members.size());
      int64_t most = 0;
      for (size_t i = 0; i < members.size(); ++i) {
        own.top_k[i].reset(k);
        most = std::max(most, batch.position(members[i]) + 1);
      }
      const int64_t step = members.size() == 1 ? most : kStep;
      for (int64_t first = 0; first < most; first += step) {
        for (size_t i = 0; i < members.size(); ++i) {
          const int64_t t = members[i];
          const int64_t end = std::min(first + step, batch.position(t) + 1);
          if (first < end) scorer_.push(t, first, end, own.top_k[i]);
        }
      }
      for (size_t i = 0; i < members.size(); ++i) {
        selection.set_count(members[i], own.top_k[i].finish(selection.row(members[i])));
      }
    });
    return;
  }

  // Few tokens: all threads share the keys of one token, in stretches of whole steps, and the kept ones
  // merge.
  for (const int32_t t : scored_) {
    const int64_t keys = batch.position(t) + 1;
    const int64_t parts = std::clamp<int64_t>(keys / kMinSplitKeys, 1, pool_.threads());
    const int64_t steps = (keys + kStep - 1) / kStep;
    const int64_t part_keys = (steps + parts - 1) / parts * kStep;
    pool_.run(parts, [&](int64_t part, int) {
      Scratch& own = scratch(static_cast<int>(part));  // parts <= threads: one scratch per part
      if (own.top_k.empty()) own.top_k.resize(1);
      own.top_k[0].reset(k);
      scorer_.push(t, part * part_keys, std::min(keys, (part + 1) * part_keys), own.top_k[0]);
    });
    TopK& all = scratch(0).top_k[0];
    for (int64_t part = 1; part < parts; ++part) all.merge(scratch(static_cast<int>(part)).top_k[0]);
    selection.set_count(t, all.finish(selection.row(t)));
  }
}

}  // namespace indexshare::cpu
