// Where time and arithmetic went: counted by part of the model.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace indexshare {

/// The parts that figures are reported by. `index` is all that a full layer does to build its index:
/// projections, scores and top-k; `experts` is every MLP, dense ones included.
enum class Part : uint8_t { index, attention, projections, experts, head, other };
inline constexpr int kParts = 6;

constexpr std::string_view part_name(Part part) {
  constexpr std::array<std::string_view, kParts> kNames = {"index",   "attention", "projections",
                                                           "experts", "head",      "other"};
  return kNames[static_cast<size_t>(part)];
}

/// Wall time in seconds and FLOPs of each part. FLOPs are 2 per multiply-add of a matrix product;
/// element-wise work (norms, rope, softmax, activations) is not counted, as in the published formula.
struct Work {
  std::array<double, kParts> part_seconds{};
  std::array<int64_t, kParts> part_flops{};

  double seconds(Part part) const { return part_seconds[static_cast<size_t>(part)]; }
  int64_t flops(Part part) const { return part_flops[static_cast<size_t>(part)]; }
  double total_seconds() const {
    double total = 0;
    for (const double seconds : part_seconds) total += seconds;
    return total;
  }
  int64_t total_flops() const {
    int64_t total = 0;
    for (const int64_t flops : part_flops) total += flops;
    return total;
  }

  Work& operator+=(const Work& other) {
    for (size_t i = 0; i < kParts; ++i) {
      part_seconds[i] += other.part_seconds[i];
      part_flops[i] += other.part_flops[i];
    }
    return *this;
  }
  friend Work operator-(Work a, const Work& b) {
    for (size_t i = 0; i < kParts; ++i) {
      a.part_seconds[i] -= b.part_seconds[i];
      a.part_flops[i] -= b.part_flops[i];
    }
    return a;
  }
};

}  // namespace indexshare
