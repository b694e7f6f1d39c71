#include "cpu/kernels.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.h"
#include "cpu/kernel_tables.h"

namespace indexshare::cpu {
namespace {

std::vector<const Kernels*> detect() {
  std::vector<const Kernels*> tables = {&scalar_kernels()};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c")) {
    tables.push_back(&avx2_kernels());
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    tables.push_back(&avx512_kernels());
  }
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
