#include "sample/counter_rng.h"

#include <gtest/gtest.h>

namespace indexshare {
namespace {

using Block = std::array<uint32_t, 4>;

TEST(Philox, GivesThePublishedAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  EXPECT_EQ(philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Block{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
  EXPECT_EQ(philox4x32({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}, {0xa4093822u, 0x299f31d0u}),
            (Block{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}));
}

TEST(UniformDraw, FillsTheUnitIntervalEvenly) {
  constexpr int kBins = 64;
  constexpr int kDraws = 64000;
  std::array<int, kBins> seen{};
  for (uint64_t position = 0; position < kDraws; ++position) {
    const double u = uniform_draw(7, position);
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    ++seen[static_cast<size_t>(u * kBins)];
  }
  double chi_square = 0.0;
  for (const int n : seen) chi_square += (n - 1000.0) * (n - 1000.0) / 1000.0;
  EXPECT_LT(chi_square, 103.4);  // the 0.999 quantile at 63 degrees of freedom
}

TEST(UniformDraw, DependsOnEveryBitOfSeedAndPosition) {
  const double plain = uniform_draw(0, 0);
  for (int bit = 0; bit < 64; ++bit) {
    EXPECT_NE(uniform_draw(uint64_t{1} << bit, 0), plain);
    EXPECT_NE(uniform_draw(0, uint64_t{1} << bit), plain);
    EXPECT_NE(uniform_draw(uint64_t{1} << bit, 0), uniform_draw(0, uint64_t{1} << bit));
  }
}

}  // namespace
}  // namespace indexshare
