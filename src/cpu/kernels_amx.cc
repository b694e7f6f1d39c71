// The table for AVX-512 with what AMX tiles do better: products of bf16, attention, index scores.
#include "cpu/amx_kernels.h"
#include "cpu/simd_kernels.h"
#include "cpu/vec_avx512_vnni.h"

namespace indexshare::cpu {
namespace {

void index_scores_int8_by_shape(const Int8IndexArgs& a) {
  if (amx::supports_int8(a)) {
    amx::index_scores_int8(a);
  } else {
    index_scores_int8<Avx512Vnni>(a);
  }
}

constexpr MatrixUnit kUnit = {
    .supports = amx::supports,
    .packed_values = amx::packed_values,
    .pack = amx::pack,
    .matmul = amx::matmul,
    .matmul_scratch_bytes = amx::matmul_scratch_bytes,
    .supports_combine = amx::supports_combine,
    .combine = amx::combine,
    .combine_scratch_bytes = amx::combine_scratch_bytes,
    .attend = amx::attend,
    .attend_scratch_bytes = amx::attend_scratch_bytes,
    .index_scores = amx::index_scores,
};

constexpr Kernels with_unit(Kernels table) {
  table.matrix_unit = &kUnit;
  table.index_scores_int8 = index_scores_int8_by_shape;
  return table;
}

}  // namespace

const Kernels& amx_kernels() {
  static constexpr Kernels kTable = with_unit(simd_table<Avx512Vnni>("amx"));
  return kTable;
}

}  // namespace indexshare::cpu
