// Memory for arrays of plain values: what weights, caches and activations are kept in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace indexshare {

inline constexpr int64_t kCacheLine = 64;                        // bytes
inline constexpr int64_t kHugePage = int64_t{2} << 20;           // bytes
inline constexpr int64_t kDirectBytes = int64_t{4} * kHugePage;  // from here on straight from the system

/// An owned block of bytes, aligned to cache lines. A block of kDirectBytes or more is aligned to huge pages,
/// zero, takes room only where it is touched, and lies in huge pages where the system grants them: a walk
/// through gigabytes then misses the address cache 512 times less.
class Memory {
 public:
  Memory() = default;
  ~Memory();
  Memory(Memory&& other) noexcept { swap(other); }
  Memory& operator=(Memory&& other) noexcept {
    Memory old;
    swap(old);
    swap(other);
    return *this;
  }

  /// `bytes` >= 0; data() is null where the system has none left.
  static Memory allocate(int64_t bytes);

  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  void swap(Memory& other) {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }

  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace indexshare
