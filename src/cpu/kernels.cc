#include "cpu/kernels.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.h"
#include "cpu/kernel_tables.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace indexshare::cpu {
namespace {

#if defined(__x86_64__)
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c >> 29 & 1) != 0;
}

// The processor has tiles for bf16 and int8, and the system lets this process use their registers.
bool has_amx() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILE_DATA
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  const bool bf16_tiles = (d >> 22 & 1) != 0, tiles = (d >> 24 & 1) != 0, int8_tiles = (d >> 25 & 1) != 0;
  return bf16_tiles && tiles && int8_tiles && syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#endif

std::vector<const Kernels*> detect() {
  std::vector<const Kernels*> tables = {&scalar_kernels()};
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  if (avx2) tables.push_back(&avx2_kernels());
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx512) tables.push_back(&avx512_kernels());
  const bool vnni = avx512 && __builtin_cpu_supports("avx512vnni");
  if (vnni) tables.push_back(&avx512_vnni_kernels());
  const bool bf16 = vnni && __builtin_cpu_supports("avx512bf16");
  // Twice the speed of f32 on AMD's processors, but half of it on Intel's, whose tiles are the unit for bf16.
  if (bf16 && __builtin_cpu_is("amd")) tables.push_back(&avx512_bf16_kernels());
  if (bf16 && has_amx()) tables.push_back(&amx_kernels());
#elif defined(__aarch64__)
  tables.push_back(&neon_kernels());
#endif
  return tables;
}

}  // namespace

std::span<const Kernels* const> available_kernels() {
  static const std::vector<const Kernels*> tables = detect();
  return tables;
}

Result<const Kernels*> choose_kernels() {
  const auto tables = available_kernels();
  const char* wanted = std::getenv("INDEXSHARE_ISA");
  if (wanted == nullptr || *wanted == '\0') return tables.back();
  std::string names;
  for (const Kernels* table : tables) {
    if (std::string_view(table->name) == wanted) return table;
    if (!names.empty()) names += ", ";
    names += table->name;
  }
  return make_error("INDEXSHARE_ISA is \"{}\", but this machine runs: {}", wanted, names);
}

}  // namespace indexshare::cpu
