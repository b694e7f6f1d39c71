#include "base/memory.h"

#include <sys/mman.h>

#include <new>

#include "base/round_up.h"

namespace indexshare {
namespace {

constexpr std::align_val_t kAlignment{static_cast<size_t>(kCacheLine)};

// `bytes` of zeros that begin at a huge page. Only the address range is taken; what surrounds it is given
// back.
std::byte* map(int64_t bytes) {
  const auto room = static_cast<size_t>(bytes + kHugePage);
  void* base =
      mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(base);
  std::byte* data =
      begin + (round_up(reinterpret_cast<intptr_t>(base), kHugePage) - reinterpret_cast<intptr_t>(base));
  if (data > begin) munmap(begin, static_cast<size_t>(data - begin));
  const int64_t behind = begin + room - (data + bytes);
  if (behind > 0) munmap(data + bytes, static_cast<size_t>(behind));
  madvise(data, static_cast<size_t>(bytes), MADV_HUGEPAGE);  // a wish: without it all works, more slowly
  return data;
}

}  // namespace

Memory Memory::allocate(int64_t bytes) {
  Memory memory;
  bytes = round_up(bytes, kCacheLine);
  if (bytes >= kDirectBytes) {
    bytes = round_up(bytes, kHugePage);
    memory.data_ = map(bytes);
  } else {
    memory.data_ =
        static_cast<std::byte*>(::operator new(static_cast<size_t>(bytes), kAlignment, std::nothrow));
  }
  if (memory.data_ != nullptr) memory.bytes_ = bytes;
  return memory;
}

Memory::~Memory() {
  if (bytes_ >= kDirectBytes) {
    munmap(data_, static_cast<size_t>(bytes_));
  } else {
    ::operator delete(data_, kAlignment);
  }
}

}  // namespace indexshare
