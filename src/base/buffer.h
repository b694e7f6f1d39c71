// Owned, cache-line aligned arrays of plain values.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace indexshare {

inline constexpr int64_t kCacheLine = 64;  // bytes

/// An uninitialised array of T that only grows; growing loses the contents.
template <typename T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(int64_t size) { resize(size); }
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    data_ = std::move(other.data_);
    capacity_ = std::exchange(other.capacity_, 0);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  /// Makes room for `size` values. Allocates only when more are wanted than ever before.
  void resize(int64_t size) {
    if (size > capacity_) {
      data_.reset();
      data_.reset(static_cast<T*>(::operator new (static_cast<size_t>(size) * sizeof(T),
                                                  std::align_val_t{static_cast<size_t>(kCacheLine)})));
      capacity_ = size;
    }
    size_ = size;
  }

  T* data() const { return data_.get(); }
  int64_t size() const { return size_; }
  int64_t bytes() const { return capacity_ * static_cast<int64_t>(sizeof(T)); }
  std::span<T> span() const { return {data_.get(), static_cast<size_t>(size_)}; }
  T& operator[](int64_t i) const { return data_.get()[i]; }

 private:
  struct Free {
    void operator()(T* p) const { ::operator delete (p, std::align_val_t{static_cast<size_t>(kCacheLine)}); }
  };
  std::unique_ptr<T[], Free> data_;
  int64_t capacity_ = 0;
  int64_t size_ = 0;
};

}  // namespace indexshare
