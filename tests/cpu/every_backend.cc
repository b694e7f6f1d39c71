#include "cpu/every_backend.h"

#include <algorithm>
#include <array>

namespace indexshare::cpu {

std::span<const std::unique_ptr<CpuBackend>> every_backend(FloatType compute) {
  static std::array<std::vector<std::unique_ptr<CpuBackend>>, 2> backends;
  auto& all = backends[compute == FloatType::bf16 ? 1 : 0];
  if (all.empty()) {
    for (const Kernels* table : available_kernels()) {
      for (const int threads : {1, 2, 3, 5}) {
        all.push_back(std::make_unique<CpuBackend>(*table, threads, compute));
      }
    }
  }
  return all;
}

void expect_within(std::span<const float> actual, std::span<const Bounded> expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i].value, expected[i].error) << "value " << i;
  }
}

bool Rows::gaps_untouched() const {
  for (int64_t i = 0; i < rows; ++i) {
    const auto* gap = values.data() + i * stride + cols;
    if (!std::all_of(gap, gap + (stride - cols), [](float x) { return x == kUntouched; })) return false;
  }
  return true;
}

Rows random_rows(int64_t rows, int64_t cols, Random& random, int64_t gap) {
  Rows result(rows, cols, gap);
  for (int64_t i = 0; i < rows; ++i) {
    for (float& x : result.row(i)) x = random.normal();
  }
  return result;
}

}  // namespace indexshare::cpu
