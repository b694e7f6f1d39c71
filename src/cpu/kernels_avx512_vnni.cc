#include "cpu/simd_kernels.h"
#include "cpu/vec_avx512_vnni.h"

namespace indexshare::cpu {

const Kernels& avx512_vnni_kernels() {
  static constexpr Kernels kTable = simd_table<Avx512Vnni>("avx512_vnni");
  return kTable;
}

}  // namespace indexshare::cpu
