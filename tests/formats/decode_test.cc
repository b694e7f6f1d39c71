#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "formats/format.h"
#include "formats/matrix.h"

namespace indexshare {
namespace {

/// The value of an e4m3fn byte by its definition, in double precision.
double e4m3_value(uint8_t bits) {
  const int exponent = (bits >> 3) & 15;
  const int mantissa = bits & 7;
  if (exponent == 15 && mantissa == 7) return std::numeric_limits<double>::quiet_NaN();
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
  return bits & 0x80 ? -magnitude : magnitude;
}

/// The value of an IEEE binary16 by its definition.
double half_value(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  double magnitude = 0;
  if (exponent == 31) {
    magnitude =
        mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  } else {
    magnitude = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  }
  return bits & 0x8000 ? -magnitude : magnitude;
}

void expect_same(float actual, double expected) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(actual));
  } else {
    EXPECT_EQ(std::bit_cast<uint32_t>(actual), std::bit_cast<uint32_t>(static_cast<float>(expected)));
  }
}

TEST(Decode, EveryFp8Value) {
  std::vector<uint8_t> bytes(256);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i);
  std::vector<float> out(256);
  find_format(DType::fp8_e4m3)->decode(reinterpret_cast<const std::byte*>(bytes.data()), 256, out.data());
  for (size_t i = 0; i < bytes.size(); ++i) expect_same(out[i], e4m3_value(bytes[i]));
}

TEST(Decode, EveryHalfAndBfloat16) {
  std::vector<uint16_t> bits(65536);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
  std::vector<float> out(bits.size());
  const auto* bytes = reinterpret_cast<const std::byte*>(bits.data());
  find_format(DType::f16)->decode(bytes, std::ssize(bits), out.data());
  for (size_t i = 0; i < bits.size(); ++i) expect_same(out[i], half_value(bits[i]));
  find_format(DType::bf16)->decode(bytes, std::ssize(bits), out.data());
  for (size_t i = 0; i < bits.size(); ++i) {
    EXPECT_EQ(std::bit_cast<uint32_t>(out[i]), static_cast<uint32_t>(bits[i]) << 16);
  }
}

TEST(Decode, ReadsUnalignedBytes) {
  const float values[] = {1.5f, -2.25f, 3e-40f};
  std::vector<std::byte> bytes(1 + sizeof(values));
  std::memcpy(bytes.data() + 1, values, sizeof(values));
  float out[3];
  find_format(DType::f32)->decode(bytes.data() + 1, 3, out);
  EXPECT_EQ(std::memcmp(out, values, sizeof(values)), 0);
}

TEST(Decode, WeightsAreNotStoredAsIntegers) {
  EXPECT_EQ(find_format(DType::i32), nullptr);
}

TEST(Format, SizesAreThoseOfTheElementTypes) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::fp8_e4m3}) {
    const Format* format = find_format(dtype);
    ASSERT_NE(format, nullptr);
    EXPECT_EQ(format->dtype, dtype);
    EXPECT_EQ(format->block_bytes, format->block_values * dtype_bytes(dtype));
    EXPECT_EQ(format->scaled, dtype == DType::fp8_e4m3);
  }
}

struct Shape {
  int64_t rows, cols, block_rows, block_cols;
};

class DecodeBlocks : public testing::TestWithParam<Shape> {};

TEST_P(DecodeBlocks, MultipliesEachValueByItsBlocksScale) {
  const auto [rows, cols, block_rows, block_cols] = GetParam();
  std::vector<uint8_t> values(static_cast<size_t>(rows * cols));
  uint32_t state = 1;
  for (uint8_t& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<uint8_t>(state >> 24);
    if ((value & 0x7f) == 0x7f) value ^= 1;  // no NaN
  }
  const int64_t scale_rows = (rows + block_rows - 1) / block_rows;
  const int64_t scale_cols = (cols + block_cols - 1) / block_cols;
  std::vector<float> scales(static_cast<size_t>(scale_rows * scale_cols));
  for (size_t i = 0; i < scales.size(); ++i) scales[i] = 1.0f / static_cast<float>(3 + i);

  const Matrix matrix{.dtype = DType::fp8_e4m3,
                      .rows = rows,
                      .cols = cols,
                      .data = reinterpret_cast<const std::byte*>(values.data()),
                      .scales = scales.data(),
                      .block_rows = block_rows,
                      .block_cols = block_cols};
  std::vector<float> out(static_cast<size_t>(cols) + 1, 77.0f);
  for (int64_t i = 0; i < rows; ++i) {
    decode_row(matrix, i, out.data());
    for (int64_t j = 0; j < cols; ++j) {
      const double scale = scales[static_cast<size_t>(i / block_rows * scale_cols + j / block_cols)];
      // One rounding to f32 of an exact product: the result is the double's nearest f32.
      expect_same(out[static_cast<size_t>(j)], e4m3_value(values[static_cast<size_t>(i * cols + j)]) * scale);
    }
  }
  EXPECT_EQ(out.back(), 77.0f);  // nothing behind the row
}

INSTANTIATE_TEST_SUITE_P(Shapes, DecodeBlocks,
                         testing::Values(Shape{1, 1, 128, 128}, Shape{128, 128, 128, 128},
                                         Shape{576, 136, 128, 128}, Shape{129, 257, 128, 128},
                                         Shape{7, 130, 3, 64}, Shape{5, 9, 1, 1}));

TEST(DecodeRow, ReadsRowsOfPlainFormats) {
  const bf16 values[] = {to_bf16(1), to_bf16(2), to_bf16(3), to_bf16(4), to_bf16(5), to_bf16(6)};
  const Matrix matrix{
      .dtype = DType::bf16, .rows = 2, .cols = 3, .data = reinterpret_cast<const std::byte*>(values)};
  float out[3];
  decode_row(matrix, 1, out);
  EXPECT_EQ(out[0], 4.0f);
  EXPECT_EQ(out[1], 5.0f);
  EXPECT_EQ(out[2], 6.0f);
}

}  // namespace
}  // namespace indexshare
