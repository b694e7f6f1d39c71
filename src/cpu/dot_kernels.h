// The kernels on vdpbf16ps, the dot instruction for pairs of bf16; see MatrixUnit for what each does.
#pragma once

#include "cpu/index_args.h"
#include "cpu/matrix_unit.h"

namespace indexshare::cpu::dots {

// dot_products.cc
bool supports(const Matrix& w);
int64_t packed_values(int64_t m, int64_t k);
void pack(const float* const* x, int64_t m, int64_t k, bf16* out);
void matmul(const PackedMatmulArgs& a);
int64_t matmul_scratch_bytes(int64_t m, int64_t n);
bool supports_combine(const Matrix& w, int64_t first);
void combine(const CombineArgs& a, std::byte* scratch);
int64_t combine_scratch_bytes(int64_t m, int64_t n, int64_t cols);

// dot_attention.cc
void attend(const AttendArgs& a);
int64_t attend_scratch_bytes(int64_t heads, int64_t latent, int64_t rope, int64_t n);
void index_scores(const IndexArgs<bf16, bf16>& a);

}  // namespace indexshare::cpu::dots
