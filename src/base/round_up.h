// Sizes in whole steps.
#pragma once

#include <cstdint>

namespace indexshare {

/// The least multiple of `step` that is at least n; n >= 0, step > 0.
constexpr int64_t round_up(int64_t n, int64_t step) {
  return (n + step - 1) / step * step;
}

}  // namespace indexshare
