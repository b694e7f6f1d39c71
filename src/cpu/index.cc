// The lightning indexer: writing index keys, scoring every earlier token, keeping the best k (MODEL: 3.3).
#include <algorithm>
#include <cstring>
#include <numeric>

#include "cpu/backend.h"

namespace indexshare::cpu {
namespace {

// Scores are made and filtered by this many keys at a time: one page's.
constexpr int64_t kPageBlocks = kPageTokens / kIndexBlock;

// Tokens of a prefill chunk that go over a page of keys together, while it is in the first-level cache.
constexpr int64_t kGroupRows = 8;

// A single token's keys are shared among threads from this many on.
constexpr int64_t kMinSplitKeys = 2048;

}  // namespace

void CpuBackend::append_index_keys(int64_t layer, const Batch& batch, Tensor keys) {
  for (int64_t t = 0; t < keys.rows; ++t) {
    const int64_t position = batch.position(t);
    const SequenceCache& cache = *batch.segment(t).cache;
    std::byte* block = cache.index_block(layer, position);
    const int64_t s = position % kIndexBlock;
    for (int64_t i = 0; i < keys.cols; ++i) {
      const int64_t offset = index_key_offset(s, i);
      if (cache.layout().dtype == DType::bf16) {
        reinterpret_cast<bf16*>(block)[offset] = to_bf16(keys.row(t)[i]);
      } else {
        reinterpret_cast<float*>(block)[offset] = keys.row(t)[i];
      }
    }
  }
}

// Pushes the scores of the keys [begin, end) of the sequence of `row`; begin is the first key of a page.
void CpuBackend::score(int64_t layer, const Batch& batch, const float* query, const float* weights,
                       int64_t row, int64_t begin, int64_t end, int64_t heads, int64_t dim, TopK& top_k,
                       Scratch& scratch) {
  const SequenceCache& cache = *batch.segment(row).cache;
  scratch.a.resize(kPageTokens);
  for (int64_t page = begin; page < end; page += kPageTokens) {
    const int64_t n = std::min(kPageTokens, end - page);
    const int64_t blocks = (n + kIndexBlock - 1) / kIndexBlock;
    const std::byte* keys = cache.index_block(layer, page);
    if (cache.layout().dtype == DType::bf16) {
      kernels_.index_scores_bf16(query, weights, heads, dim, reinterpret_cast<const bf16*>(keys), blocks,
                                 scratch.a.data());
    } else {
      kernels_.index_scores_f32(query, weights, heads, dim, reinterpret_cast<const float*>(keys), blocks,
                                scratch.a.data());
    }
    top_k.push(scratch.a.data(), n, page);
  }
}

void CpuBackend::select_top_k(int64_t layer, const Batch& batch, Tensor queries, Tensor weights, int64_t k,
                              Selection& selection) {
  const int64_t heads = weights.cols;
  const int64_t dim = queries.cols / heads;
  int64_t longest = 0;
  std::vector<int32_t> scored;  // the rows that have more than k keys
  for (int64_t t = 0; t < batch.rows(); ++t) {
    const int64_t keys = batch.position(t) + 1;
    longest = std::max(longest, keys);
    if (keys > k) scored.push_back(static_cast<int32_t>(t));
    if (keys > k) profile_.add_flops(2 * heads * dim * keys);
  }
  selection.resize(batch.rows(), std::min(k, longest));
  for (int64_t t = 0; t < batch.rows(); ++t) {
    const int64_t keys = batch.position(t) + 1;
    if (keys > k) continue;
    std::iota(selection.row(t), selection.row(t) + keys, 0);
    selection.set_count(t, keys);
  }

  const auto rows = static_cast<int64_t>(scored.size());
  if (rows >= pool_.threads()) {
    // Many tokens: each thread takes groups of neighbours over all their keys, page by page.
    const int64_t group = std::clamp<int64_t>(rows / (4 * pool_.threads()), 1, kGroupRows);
    pool_.run((rows + group - 1) / group, [&](int64_t item, int worker) {
      Scratch& own = scratch(worker);
      const std::span<const int32_t> members(scored.data() + item * group,
                                             static_cast<size_t>(std::min(group, rows - item * group)));
      if (own.top_k.size() < members.size()) own.top_k.resize(members.size());
      int64_t most = 0;
      for (size_t i = 0; i < members.size(); ++i) {
        own.top_k[i].reset(k);
        most = std::max(most, batch.position(members[i]) + 1);
      }
      for (int64_t page = 0; page < most; page += kPageTokens) {
        for (size_t i = 0; i < members.size(); ++i) {
          const int64_t t = members[i];
          const int64_t end = std::min(page + kPageTokens, batch.position(t) + 1);
          if (page < end)
            score(layer, batch, queries.row(t), weights.row(t), t, page, end, heads, dim, own.top_k[i], own);
        }
      }
      for (size_t i = 0; i < members.size(); ++i) {
        selection.set_count(members[i], own.top_k[i].finish(selection.row(members[i])));
      }
    });
    return;
  }

  // Few tokens: all threads share the keys of one token, in stretches of whole pages, and the kept ones
  // merge.
  for (const int32_t t : scored) {
    const int64_t keys = batch.position(t) + 1;
    const int64_t parts = std::clamp<int64_t>(keys / kMinSplitKeys, 1, pool_.threads());
    const int64_t pages = (keys + kPageTokens - 1) / kPageTokens;
    const int64_t part_keys = (pages + parts - 1) / parts * kPageTokens;
    pool_.run(parts, [&](int64_t part, int) {
      Scratch& own = scratch(static_cast<int>(part));  // parts <= threads: one scratch per part
      if (own.top_k.empty()) own.top_k.resize(1);
      own.top_k[0].reset(k);
      score(layer, batch, queries.row(t), weights.row(t), t, part * part_keys,
            std::min(keys, (part + 1) * part_keys), heads, dim, own.top_k[0], own);
    });
    TopK& all = scratch(0).top_k[0];
    for (int64_t part = 1; part < parts; ++part) all.merge(scratch(static_cast<int>(part)).top_k[0]);
    selection.set_count(t, all.finish(selection.row(t)));
  }
}

}  // namespace indexshare::cpu
