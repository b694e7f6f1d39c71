#include "cpu/simd_kernels.h"
#include "cpu/vec_neon.h"

namespace indexshare::cpu {

const Kernels& neon_kernels() {
  static constexpr Kernels kTable = simd_table<Neon>("neon");
  return kTable;
}

}  // namespace indexshare::cpu
