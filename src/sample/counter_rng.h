// Random numbers as a pure function of a key and a counter (Philox 4x32-10; Salmon, Moraes, Dror, Shaw,
// "Parallel random numbers: as easy as 1, 2, 3", 2011). There is no state: a draw depends on nothing
// that came before it.
#pragma once

#include <array>
#include <cstdint>

namespace indexshare {

/// One block of 128 random bits.
constexpr std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t even = uint64_t{0xD2511F53u} * counter[0];
    const uint64_t odd = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<uint32_t>(odd >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(odd),
               static_cast<uint32_t>(even >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(even)};
    key[0] += 0x9E3779B9u;  // the golden ratio and sqrt(3) - 1, in units of 2^-32
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

/// The draw of `seed` at `position`: uniform over the multiples of 2^-53 in [0, 1).
constexpr double uniform_draw(uint64_t seed, uint64_t position) {
  const auto bits =
      philox4x32({static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32), 0u, 0u},
                 {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  return static_cast<double>((uint64_t{bits[1]} << 32 | bits[0]) >> 11) * 0x1p-53;
}

}  // namespace indexshare
