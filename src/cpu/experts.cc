// The router and the MLPs: every MLP's weights are read once per batch, whatever the number of its tokens.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include "cpu/backend.h"
#include "cpu/block_sizes.h"

namespace indexshare::cpu {
namespace {

float sigmoid(float x) {
  return 1.0f / (1.0f + std::exp(-x));
}

// Indices of the n largest values, ties to the lower index; NaN counts as minus infinity.
void top_n(std::span<const float> values, int64_t n, std::vector<int32_t>& order) {
  order.resize(values.size());
  std::iota(order.begin(), order.end(), 0);
  auto value = [&](int32_t i) {
    const float v = values[static_cast<size_t>(i)];
    return std::isnan(v) ? -std::numeric_limits<float>::infinity() : v;
  };
  std::partial_sort(order.begin(), order.begin() + n, order.end(), [&](int32_t a, int32_t b) {
    return value(a) > value(b) || (value(a) == value(b) && a < b);
  });
  order.resize(static_cast<size_t>(n));
}

}  // namespace

// Sets the choices of all but the best groups of experts to minus infinity. A group's score is the sum of its
// two best choices.
void CpuBackend::Router::keep_best_groups(const RouterShape& shape) {
  const size_t width = choices.size() / static_cast<size_t>(shape.groups);
  group_scores.clear();
  for (int64_t g = 0; g < shape.groups; ++g) {
    const std::span<const float> group(choices.data() + static_cast<size_t>(g) * width, width);
    top_n(group, 2, order);
    group_scores.push_back(group[static_cast<size_t>(order[0])] + group[static_cast<size_t>(order[1])]);
  }
  top_n(group_scores, shape.kept_groups, order);
  for (int32_t g = 0; g < shape.groups; ++g) {
    if (std::find(order.begin(), order.end(), g) != order.end()) continue;
    std::fill_n(choices.begin() + static_cast<int64_t>(static_cast<size_t>(g) * width), width,
                -std::numeric_limits<float>::infinity());
  }
}

void CpuBackend::route(Tensor logits, std::span<const float> correction_bias, const RouterShape& shape,
                       Routing& routing) {
  const int64_t k = shape.experts_per_token;
  routing.resize(logits.rows, k);
  auto& [scores, choices, group_scores, order] = router_;
  scores.resize(static_cast<size_t>(logits.cols));
  choices.resize(scores.size());
  for (int64_t t = 0; t < logits.rows; ++t) {
    for (size_t e = 0; e < scores.size(); ++e) {
      scores[e] = sigmoid(logits.row(t)[e]);
      choices[e] = scores[e] + correction_bias[e];
    }
    if (shape.groups > 1) router_.keep_best_groups(shape);
    top_n(choices, k, order);
    std::sort(order.begin(), order.end());
    float sum = 1e-20f;
    for (const int32_t e : order) sum += scores[static_cast<size_t>(e)];
    for (int64_t i = 0; i < k; ++i) {
      const int32_t e = order[static_cast<size_t>(i)];
      const float weight = scores[static_cast<size_t>(e)];  // without the bias
      routing.ids[t * k + i] = e;
      routing.weights[t * k + i] = (shape.normalise ? weight / sum : weight) * shape.scaling;
    }
  }
}

void CpuBackend::experts(Tensor x, std::span<const MlpWeights> experts, const Routing& routing,
                         const MlpWeights* shared, Tensor y) {
  const int64_t k = routing.experts_per_token;
  const int64_t routed = x.rows * k;
  const int64_t slots = routed + (shared != nullptr ? x.rows : 0);
  slot_row_.resize(slots);
  slot_weight_.resize(slots);

  // Counting sort of (token, expert) pairs by expert.
  std::vector<int64_t>& next = next_slot_;
  next.assign(experts.size() + 1, 0);
  for (int64_t i = 0; i < routed; ++i) ++next[static_cast<size_t>(routing.ids[i]) + 1];
  groups_.clear();
  for (size_t e = 0; e < experts.size(); ++e) {
    if (next[e + 1] > 0) groups_.push_back({.mlp = &experts[e], .first_slot = next[e], .slots = next[e + 1]});
    next[e + 1] += next[e];
  }
  for (int64_t i = 0; i < routed; ++i) {
    const int64_t slot = next[static_cast<size_t>(routing.ids[i])]++;
    slot_row_[slot] = static_cast<int32_t>(i / k);
    slot_weight_[slot] = routing.weights[i];
  }
  if (shared != nullptr) {
    groups_.push_back({.mlp = shared, .first_slot = routed, .slots = x.rows});
    for (int64_t t = 0; t < x.rows; ++t) {
      slot_row_[routed + t] = static_cast<int32_t>(t);
      slot_weight_[routed + t] = 1.0f;
    }
  }
  run_mlps(x, slots, y);
}

void CpuBackend::mlp(Tensor x, const MlpWeights& w, Tensor y) {
  const Routing none;
  experts(x, {}, none, &w, y);
}

// For the groups and slots set up by experts(). Work is cut by rows of the weight matrices: first the
// intermediate values of all groups, then the outputs, where each item adds up all groups in their order, so
// that a token's sum does not depend on the other tokens.
void CpuBackend::run_mlps(Tensor x, int64_t slots, Tensor y) {
  const int64_t tile = mlp_tile(slots);
  int64_t width = 0;
  for (const ExpertGroup& group : groups_) width = std::max(width, group.mlp->gate_proj.rows);
  activations_.reset(slots, x.cols, compute_);
  intermediate_.reset(slots, width, compute_);
  int64_t blocks = 0, items = 0;
  for (ExpertGroup& group : groups_) {
    const int64_t rows = group.mlp->gate_proj.rows;
    profile_.add_flops(2 * 3 * group.slots * rows * x.cols);
    activations_.need(group.mlp->gate_proj);
    activations_.need(group.mlp->up_proj);
    intermediate_.need(group.mlp->down_proj);
    group.first_block = blocks;
    group.first_item = items;
    blocks += (group.slots + kPackRows - 1) / kPackRows;
    items += (rows + tile - 1) / tile;
  }
  for (Scratch& own : scratch_) own.a.resize(2 * kBlockSlots * tile);
  reserve_products(std::min(slots, kBlockSlots), tile);
  // The group that an item belongs to.
  auto locate = [&](int64_t ExpertGroup::*first, int64_t item) -> const ExpertGroup& {
    return *std::prev(std::ranges::upper_bound(groups_, item, {}, first));
  };

  pool_.run(blocks, [&](int64_t item, int) {
    const ExpertGroup& group = locate(&ExpertGroup::first_block, item);
    const int64_t from = (item - group.first_block) * kPackRows;
    const int64_t first = group.first_slot + from;
    const int64_t m = std::min(kPackRows, group.slots - from);
    const float* rows[kPackRows];
    for (int64_t i = 0; i < m; ++i) rows[i] = x.row(slot_row_[first + i]);
    activations_.set(first, m, rows, 0, x.cols);
  });

  pool_.run(items, [&](int64_t item, int worker) {
    const ExpertGroup& group = locate(&ExpertGroup::first_item, item);
    const int64_t first = (item - group.first_item) * tile;
    const int64_t n = std::min(tile, group.mlp->gate_proj.rows - first);
    Scratch& own = scratch(worker);
    float* gate[kBlockSlots];
    float* up[kBlockSlots];
    for (int64_t i = 0; i < kBlockSlots; ++i) {
      gate[i] = own.a.data() + 2 * i * tile;
      up[i] = gate[i] + tile;
    }
    for (int64_t s = 0; s < group.slots; s += kBlockSlots) {
      const int64_t slot = group.first_slot + s;
      const int64_t m = std::min(kBlockSlots, group.slots - s);
      activations_.multiply(slot, m, group.mlp->gate_proj, first, n, gate, 0, own.bytes.data());
      activations_.multiply(slot, m, group.mlp->up_proj, first, n, up, 0, own.bytes.data());
      for (int64_t i = 0; i < m; ++i) kernels_.swiglu(gate[i], up[i], n, gate[i]);
      for (int64_t i = 0; i < m; i += kPackRows) {
        intermediate_.set(slot + i, std::min(kPackRows, m - i), gate + i, first, n);
      }
    }
  });

  pool_.run((y.cols + tile - 1) / tile, [&](int64_t item, int worker) {
    const int64_t first = item * tile;
    const int64_t n = std::min(tile, y.cols - first);
    for (int64_t t = 0; t < y.rows; ++t) std::fill_n(y.row(t) + first, n, 0.0f);
    Scratch& own = scratch(worker);
    float* part[kBlockSlots];
    for (int64_t i = 0; i < kBlockSlots; ++i) part[i] = own.a.data() + i * tile;
    for (const ExpertGroup& group : groups_) {
      for (int64_t s = 0; s < group.slots; s += kBlockSlots) {
        const int64_t slot = group.first_slot + s;
        const int64_t m = std::min(kBlockSlots, group.slots - s);
        intermediate_.multiply(slot, m, group.mlp->down_proj, first, n, part, 0, own.bytes.data());
        for (int64_t i = 0; i < m; ++i) {
          kernels_.add_scaled(part[i], slot_weight_[slot + i], n, y.row(slot_row_[slot + i]) + first);
        }
      }
    }
  });
}

}  // namespace indexshare::cpu
