// The table for AVX-512 VNNI with what vdpbf16ps does faster than products in f32.
#include "cpu/dot_kernels.h"
#include "cpu/simd_kernels.h"
#include "cpu/vec_avx512_vnni.h"

namespace indexshare::cpu {
namespace {

constexpr MatrixUnit kUnit = {
    .supports = dots::supports,
    .packed_values = dots::packed_values,
    .pack = dots::pack,
    .matmul = dots::matmul,
    .matmul_scratch_bytes = dots::matmul_scratch_bytes,
    .supports_combine = dots::supports_combine,
    .combine = dots::combine,
    .combine_scratch_bytes = dots::combine_scratch_bytes,
    .attend = dots::attend,
    .attend_scratch_bytes = dots::attend_scratch_bytes,
    .index_scores = dots::index_scores,
};

constexpr Kernels with_unit(Kernels table) {
  table.matrix_unit = &kUnit;
  return table;
}

}  // namespace

const Kernels& avx512_bf16_kernels() {
  static constexpr Kernels kTable = with_unit(simd_table<Avx512Vnni>("avx512_bf16"));
  return kTable;
}

}  // namespace indexshare::cpu
