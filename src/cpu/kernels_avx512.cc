#include "cpu/simd_kernels.h"
#include "cpu/vec_avx512.h"

namespace indexshare::cpu {

const Kernels& avx512_kernels() {
  static constexpr Kernels kTable = simd_table<Avx512>("avx512");
  return kTable;
}

}  // namespace indexshare::cpu
