// Checksums, which tell damage and difference; they are no defence against who makes them match.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace indexshare {

/// XXH3 in 64 bits.
uint64_t checksum(std::span<const std::byte> bytes, uint64_t seed = 0);

}  // namespace indexshare
