// The kernel tables, one per instruction set; each is defined in the file of its name.
#pragma once

#include "cpu/kernels.h"

namespace indexshare::cpu {

const Kernels& scalar_kernels();
#if defined(__x86_64__)
const Kernels& avx2_kernels();
const Kernels& avx512_kernels();
const Kernels& avx512_vnni_kernels();
const Kernels& avx512_bf16_kernels();
const Kernels& amx_kernels();
#elif defined(__aarch64__)
const Kernels& neon_kernels();
#endif

}  // namespace indexshare::cpu
