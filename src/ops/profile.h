// Where time and arithmetic went: counted by part of the model.
#pragma once

#include <array>
#include <chrono>
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

/// Totals since construction. FLOPs are counted where the loops run, 2 per multiply-add of a matrix product;
/// element-wise work (norms, rope, softmax, activations) is not counted, as in the published formula.
class Profile {
 public:
  using Clock = std::chrono::steady_clock;

  void add_flops(int64_t flops) { flops_[index(current_)] += flops; }
  int64_t flops(Part part) const { return flops_[index(part)]; }
  int64_t total_flops() const;

  /// Wall time spent inside PartScope, without that of nested scopes.
  double seconds(Part part) const { return std::chrono::duration<double>(time_[index(part)]).count(); }
  double total_seconds() const;

  /// What came after `earlier`, a copy of this profile.
  Profile since(const Profile& earlier) const;

 private:
  friend class PartScope;
  static size_t index(Part part) { return static_cast<size_t>(part); }
  Part switch_to(Part part);

  Part current_ = Part::other;
  bool running_ = false;
  Clock::time_point since_;
  std::array<int64_t, kParts> flops_{};
  std::array<Clock::duration, kParts> time_{};
};

/// From here to the end of the scope, time and FLOPs belong to `part`.
class PartScope {
 public:
  PartScope(Profile& profile, Part part);
  ~PartScope();
  PartScope(const PartScope&) = delete;
  PartScope& operator=(const PartScope&) = delete;

 private:
  Profile& profile_;
  Part outer_;
  bool outermost_;
};

}  // namespace indexshare
