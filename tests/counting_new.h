// Counts the allocations of a test program. Replaces the global operator new, so exactly one source of
// a program includes this.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace indexshare {

inline std::atomic<int64_t> allocations{0};

inline void* count_and_allocate(size_t size, size_t alignment) noexcept {
  ++allocations;
  const size_t padded = (size + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, padded == 0 ? alignment : padded);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace indexshare

void* operator new(size_t size) {
  return indexshare::count_and_allocate(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return indexshare::count_and_allocate(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new(size_t size, std::align_val_t alignment) {
  return indexshare::count_and_allocate(size, static_cast<size_t>(alignment));
}
void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return indexshare::count_and_allocate(size, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}
