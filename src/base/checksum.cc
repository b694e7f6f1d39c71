#include "base/checksum.h"

#include <xxhash.h>

namespace indexshare {

uint64_t checksum(std::span<const std::byte> bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace indexshare
