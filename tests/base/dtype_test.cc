// Conversions between element types, exhaustively, against their definitions.
#include "base/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace indexshare {
namespace {

/// The value of a float of the IEEE pattern with these fields, except for infinities and NaN.
double value_of(uint32_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const auto sign = bits >> (exponent_bits + mantissa_bits) & 1u;
  const auto exponent = static_cast<int>(bits >> mantissa_bits & ((1u << exponent_bits) - 1u));
  const auto mantissa = static_cast<int>(bits & ((1u << mantissa_bits) - 1u));
  const int significand = exponent == 0 ? mantissa : mantissa + (1 << mantissa_bits);
  const double magnitude = std::ldexp(significand, std::max(exponent, 1) - bias - mantissa_bits);
  return sign != 0 ? -magnitude : magnitude;
}

void expect_value(float actual, double expected, uint32_t bits) {
  EXPECT_EQ(actual, expected) << std::hex << bits;
  EXPECT_EQ(std::signbit(actual), std::signbit(expected)) << std::hex << bits;
}

TEST(DType, SizesAndNames) {
  EXPECT_EQ(dtype_bytes(DType::f32), 4);
  EXPECT_EQ(dtype_bytes(DType::bf16), 2);
  EXPECT_EQ(dtype_bytes(DType::f16), 2);
  EXPECT_EQ(dtype_bytes(DType::fp8_e4m3), 1);
  EXPECT_EQ(dtype_bytes(DType::i32), 4);
  EXPECT_EQ(dtype_name(DType::bf16), "bf16");
  EXPECT_EQ(dtype_name(DType::fp8_e4m3), "fp8");
  static_assert(sizeof(bf16) == 2 && sizeof(f16) == 2 && sizeof(fp8_e4m3) == 1);
}

TEST(F16, EveryPatternHasItsValue) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float x = to_f32(f16{static_cast<uint16_t>(bits)});
    if ((bits & 0x7c00u) != 0x7c00u) {
      expect_value(x, value_of(bits, 5, 10), bits);
    } else if ((bits & 0x3ffu) == 0) {
      expect_value(x, (bits & 0x8000u) != 0 ? -HUGE_VAL : HUGE_VAL, bits);
    } else {
      EXPECT_TRUE(std::isnan(x));
      EXPECT_EQ(std::signbit(x), (bits & 0x8000u) != 0);
    }
  }
}

TEST(Fp8E4m3, EveryPatternHasItsValue) {
  for (uint32_t bits = 0; bits < 0x100; ++bits) {
    const float x = to_f32(fp8_e4m3{static_cast<uint8_t>(bits)});
    if ((bits & 0x7fu) == 0x7fu) {
      EXPECT_TRUE(std::isnan(x));
      EXPECT_EQ(std::signbit(x), bits == 0xffu);
    } else {
      expect_value(x, value_of(bits, 4, 3), bits);  // the top exponent, too, holds numbers
    }
  }
  EXPECT_EQ(to_f32(fp8_e4m3{0x7e}), 448.0f);
  EXPECT_EQ(to_f32(fp8_e4m3{0x01}), 0x1p-9f);
}

TEST(Bf16, EveryPatternHasItsValueAndComesBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const bf16 stored{static_cast<uint16_t>(bits)};
    const float x = to_f32(stored);
    if ((bits & 0x7f80u) != 0x7f80u) expect_value(x, value_of(bits, 8, 7), bits);
    const bool signalling = std::isnan(x) && (bits & 0x40u) == 0;
    EXPECT_EQ(to_bf16(x).bits, signalling ? bits | 0x40u : bits);
  }
}

TEST(Bf16, RoundsToTheNearestAndTiesToEven) {
  for (uint32_t upper = 0; upper < 0x7f80u; ++upper) {  // magnitudes of finite numbers
    // Above the largest number the next step would be 2^128, which rounds to infinity.
    const double low = value_of(upper, 8, 7);
    const double high = upper + 1 < 0x7f80u ? value_of(upper + 1, 8, 7) : 0x1p128;
    for (const uint32_t lower : {0x0000u, 0x0001u, 0x4000u, 0x7fffu, 0x8000u, 0x8001u, 0xc000u, 0xffffu}) {
      const float x = std::bit_cast<float>(upper << 16 | lower);
      const double below = static_cast<double>(x) - low;
      const double above = high - static_cast<double>(x);
      const uint32_t nearest = below < above || (below == above && upper % 2 == 0) ? upper : upper + 1;
      EXPECT_EQ(to_bf16(x).bits, nearest) << std::hex << upper << ' ' << lower;
      EXPECT_EQ(to_bf16(-x).bits, nearest | 0x8000u) << std::hex << upper << ' ' << lower;
    }
  }
}

TEST(Bf16, NaNStaysNaNWithItsSign) {
  for (const uint32_t payload : {1u, 0x8000u, 0xffffu, 0x10000u, 0x400000u, 0x7fffffu}) {
    for (const uint32_t sign : {0u, 0x80000000u}) {
      const float rounded = round_to_bf16(std::bit_cast<float>(sign | 0x7f800000u | payload));
      EXPECT_TRUE(std::isnan(rounded)) << std::hex << payload;
      EXPECT_EQ(std::signbit(rounded), sign != 0);
    }
  }
}

}  // namespace
}  // namespace indexshare
