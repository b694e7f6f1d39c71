// The vector type of the tables whose machines also have the dot instructions for int8 (AVX-512 VNNI).
#pragma once

#include "cpu/vec_avx512.h"

namespace indexshare::cpu {
namespace {

struct Avx512Vnni : Avx512 {
  // Dots of int8, four values to a lane. One factor has to be unsigned: the keys, moved up by 128.
  using Quads = __m512i;
  static I first_dot(int32_t q_sum) { return _mm512_set1_epi32(-128 * q_sum); }
  static Quads load_quads(const int8_t* p) {
    return _mm512_xor_si512(_mm512_loadu_si512(p), _mm512_set1_epi8(static_cast<char>(0x80)));
  }
  static I add_dot(I sum, Quads keys, I q) { return _mm512_dpbusd_epi32(sum, keys, q); }
};

}  // namespace
}  // namespace indexshare::cpu
