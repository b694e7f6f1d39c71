#include "cpu/simd_kernels.h"
#include "cpu/vec_avx512_bf16.h"

namespace indexshare::cpu {

const Kernels& avx512_bf16_kernels() {
  static constexpr Kernels kTable = simd_table<Avx512Bf16>("avx512_bf16");
  return kTable;
}

}  // namespace indexshare::cpu
