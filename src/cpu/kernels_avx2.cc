#include "cpu/simd_kernels.h"
#include "cpu/vec_avx2.h"

namespace indexshare::cpu {

const Kernels& avx2_kernels() {
  static constexpr Kernels kTable = simd_table<Avx2>("avx2");
  return kTable;
}

}  // namespace indexshare::cpu
