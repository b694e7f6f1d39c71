#include "ops/profile.h"

namespace indexshare {

Work Profile::work() const {
  Work work{.part_seconds = {}, .part_flops = flops_};
  for (size_t i = 0; i < kParts; ++i) {
    work.part_seconds[i] = std::chrono::duration<double>(time_[i]).count();
  }
  return work;
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
