// Element types of tensors and their conversions to f32.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "indexshare/options.h"

namespace indexshare {

enum class DType : uint8_t { f32, bf16, f16, fp8_e4m3, i32 };

constexpr int64_t dtype_bytes(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::i32: return 4;
    case DType::bf16:
    case DType::f16: return 2;
    case DType::fp8_e4m3: return 1;
  }
  return 0;
}

constexpr std::string_view dtype_name(DType dtype) {
  switch (dtype) {
    case DType::f32: return "f32";
    case DType::bf16: return "bf16";
    case DType::f16: return "f16";
    case DType::fp8_e4m3: return "fp8";
    case DType::i32: return "i32";
  }
  return "";
}

constexpr DType dtype_of(FloatType type) {
  return type == FloatType::f32 ? DType::f32 : DType::bf16;
}

/// bfloat16: the upper half of an f32.
struct bf16 {
  uint16_t bits = 0;
};

inline float to_f32(bf16 x) {
  return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16);
}

/// Rounds to nearest even; a NaN stays a (quiet) NaN.
inline bf16 to_bf16(float x) {
  const uint32_t u = std::bit_cast<uint32_t>(x);
  if ((u & 0x7fffffffu) > 0x7f800000u) return {static_cast<uint16_t>((u >> 16) | 0x40u)};
  return {static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16)};
}

inline float round_to_bf16(float x) {
  return to_f32(to_bf16(x));
}

/// IEEE half.
struct f16 {
  uint16_t bits = 0;
};

inline float to_f32(f16 x) {
  const uint32_t sign = static_cast<uint32_t>(x.bits & 0x8000u) << 16;
  const uint32_t magnitude = x.bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  // Placed as an f32 exponent that is 112 too small; the product restores it, subnormals included.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(scaled));
}

/// OCP FP8 e4m3fn: bias 7, no infinity, 0x7f and 0xff are NaN, largest value 448.
struct fp8_e4m3 {
  uint8_t bits = 0;
};

inline float to_f32(fp8_e4m3 x) {
  const uint32_t sign = static_cast<uint32_t>(x.bits & 0x80u) << 24;
  const uint32_t magnitude = x.bits & 0x7fu;
  if (magnitude == 0x7fu) return std::bit_cast<float>(sign | 0x7fc00000u);
  const float scaled = std::bit_cast<float>(magnitude << 20) * 0x1p120f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(scaled));
}

inline float to_f32(float x) {
  return x;
}

}  // namespace indexshare
