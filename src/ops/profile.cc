#include "ops/profile.h"

namespace indexshare {

int64_t Profile::total_flops() const {
  int64_t total = 0;
  for (const int64_t flops : flops_) total += flops;
  return total;
}

double Profile::total_seconds() const {
  Clock::duration total{};
  for (const Clock::duration time : time_) total += time;
  return std::chrono::duration<double>(total).count();
}

Profile Profile::since(const Profile& earlier) const {
  Profile difference = *this;
  for (size_t i = 0; i < kParts; ++i) {
    difference.flops_[i] -= earlier.flops_[i];
    difference.time_[i] -= earlier.time_[i];
  }
  return difference;
}

// Books the time since the last switch on the part that ran, and returns it.
Part Profile::switch_to(Part part) {
  const Clock::time_point now = Clock::now();
  if (running_) time_[index(current_)] += now - since_;
  since_ = now;
  const Part before = current_;
  current_ = part;
  return before;
}

PartScope::PartScope(Profile& profile, Part part)
    : profile_(profile), outer_(profile.switch_to(part)), outermost_(!profile.running_) {
  profile_.running_ = true;
}

PartScope::~PartScope() {
  profile_.switch_to(outer_);
  if (outermost_) profile_.running_ = false;
}

}  // namespace indexshare
