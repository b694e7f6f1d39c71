// Owned, cache-line aligned arrays of plain values.
#pragma once

#include <cstdint>
#include <new>
#include <span>
#include <utility>

#include "base/memory.h"

namespace indexshare {

/// An uninitialised array of T that only grows; growing loses the contents.
template <typename T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(int64_t size) { resize(size); }
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    memory_ = std::move(other.memory_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  /// Makes room for `size` values. Allocates only when more are wanted than ever before.
  void resize(int64_t size) {
    const int64_t wanted = size * static_cast<int64_t>(sizeof(T));
    if (wanted > memory_.bytes()) {
      memory_ = {};  // the old values go first: both need not fit
      memory_ = Memory::allocate(wanted);
      if (memory_.data() == nullptr) throw std::bad_alloc();
    }
    size_ = size;
  }

  T* data() const { return reinterpret_cast<T*>(memory_.data()); }
  int64_t size() const { return size_; }
  int64_t bytes() const { return memory_.bytes(); }
  std::span<T> span() const { return {data(), static_cast<size_t>(size_)}; }
  T& operator[](int64_t i) const { return data()[i]; }

 private:
  Memory memory_;
  int64_t size_ = 0;
};

}  // namespace indexshare
