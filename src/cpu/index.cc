// The lightning indexer: writing index keys, scoring every earlier token, keeping the best k (MODEL: 3.3).
#include <algorithm>
#include <cstring>
#include <numeric>

#include "cpu/backend.h"

namespace indexshare::cpu {
namespace {

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

// Scores the keys of one full layer for the queries of a batch, in the form that the kernel table wants.
class CpuBackend::Scorer {
 public:
  Scorer(CpuBackend& backend, int64_t layer, const Batch& batch, Tensor queries, Tensor weights)
      : backend_(backend),
        layer_(layer),
        batch_(batch),
        queries_(queries),
        weights_(weights),
        heads_(weights.cols),
        dim_(queries.cols / weights.cols) {
    const bool bf16_keys = batch.segments.front().cache->layout().dtype == DType::bf16;
    on_matrix_unit_ = backend.compute_ == ComputeType::bf16 && backend.kernels_.matrix_unit != nullptr &&
                      bf16_keys && dim_ % kTileDepth == 0;
    if (on_matrix_unit_) pad_queries();
  }

  // Pushes the scores of the keys [begin, end) of row t's sequence; begin is the first key of a page.
  void push(int64_t t, int64_t begin, int64_t end, TopK& top_k) const {
    const SequenceCache& cache = *batch_.segment(t).cache;
    float scores[kPageTokens];
    for (int64_t page = begin; page < end; page += kPageTokens) {
      const int64_t n = std::min(kPageTokens, end - page);
      score_blocks(t, cache.index_block(layer_, page), cache.layout().dtype,
                   (n + kIndexBlock - 1) / kIndexBlock, scores);
      top_k.push(scores, n, page);
    }
  }

 private:
  static constexpr int64_t kTileDepth = 32, kTileHeads = 16;  // MatrixUnit::index_scores

  int64_t padded_heads() const { return (heads_ + kTileHeads - 1) / kTileHeads * kTileHeads; }

  void pad_queries() {
    const int64_t heads = padded_heads();
    backend_.index_queries_.resize(queries_.rows * heads * dim_);
    backend_.index_weights_.resize(queries_.rows * heads);
    backend_.for_rows(queries_, [&](int64_t t) {
      bf16* q = backend_.index_queries_.data() + t * heads * dim_;
      backend_.kernels_.encode_bf16(queries_.row(t), heads_ * dim_, q);
      std::fill(q + heads_ * dim_, q + heads * dim_, bf16{});
      float* w = backend_.index_weights_.data() + t * heads;
      std::copy_n(weights_.row(t), heads_, w);
      std::fill(w + heads_, w + heads, 0.0f);
    });
  }

  void score_blocks(int64_t t, const std::byte* keys, DType dtype, int64_t blocks, float* scores) const {
    const Kernels& kernels = backend_.kernels_;
    const auto* bf16_keys = reinterpret_cast<const bf16*>(keys);
    if (on_matrix_unit_) {
      const int64_t heads = padded_heads();
      kernels.matrix_unit->index_scores(backend_.index_queries_.data() + t * heads * dim_,
                                        backend_.index_weights_.data() + t * heads, heads, dim_, bf16_keys,
                                        blocks, scores);
    } else if (dtype == DType::bf16) {
      kernels.index_scores_bf16(queries_.row(t), weights_.row(t), heads_, dim_, bf16_keys, blocks, scores);
    } else {
      kernels.index_scores_f32(queries_.row(t), weights_.row(t), heads_, dim_,
                               reinterpret_cast<const float*>(keys), blocks, scores);
    }
  }

  CpuBackend& backend_;
  int64_t layer_;
  const Batch& batch_;
  Tensor queries_, weights_;
  int64_t heads_, dim_;
  bool on_matrix_unit_ = false;
};

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

  if (scored.empty()) return;
  const Scorer scorer(*this, layer, batch, queries, weights);
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
          if (page < end) scorer.push(t, page, end, own.top_k[i]);
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
      scorer.push(t, part * part_keys, std::min(keys, (part + 1) * part_keys), own.top_k[0]);
    });
    TopK& all = scratch(0).top_k[0];
    for (int64_t part = 1; part < parts; ++part) all.merge(scratch(static_cast<int>(part)).top_k[0]);
    selection.set_count(t, all.finish(selection.row(t)));
  }
}

}  // namespace indexshare::cpu
