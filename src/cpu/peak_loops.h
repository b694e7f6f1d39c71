// The loops of multiply-adds, one list per instruction set; each is defined in the file of its name and
// compiled with the flags of that set.
#pragma once

#include <span>

#include "cpu/machine_limits.h"

namespace indexshare::cpu {

std::span<const PeakLoop> scalar_peak_loops();
#if defined(__x86_64__)
std::span<const PeakLoop> avx2_peak_loops();
std::span<const PeakLoop> avx512_peak_loops();
std::span<const PeakLoop> avx512_vnni_peak_loops();
std::span<const PeakLoop> avx512_bf16_peak_loops();
std::span<const PeakLoop> amx_peak_loops();
#elif defined(__aarch64__)
std::span<const PeakLoop> neon_peak_loops();
#endif

}  // namespace indexshare::cpu
