// Where time and arithmetic went: counted by part of the model.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

#include "indexshare/work.h"

namespace indexshare {

/// Totals since construction. FLOPs are counted where the loops run.
class Profile {
 public:
  using Clock = std::chrono::steady_clock;

  void add_flops(int64_t flops) { flops_[index(current_)] += flops; }

  /// Its time is that spent inside PartScope, without that of nested scopes.
  Work work() const;

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
