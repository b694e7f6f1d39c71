#include "base/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace indexshare {
namespace {

int64_t address(const Memory& memory) {
  return static_cast<int64_t>(reinterpret_cast<intptr_t>(memory.data()));
}

TEST(Memory, HoldsAtLeastWhatWasAskedInWholeLines) {
  for (const int64_t bytes : {int64_t{1}, int64_t{64}, int64_t{1000}, kDirectBytes - 64, kDirectBytes - 1,
                              kDirectBytes, kDirectBytes + 1, 2 * kDirectBytes}) {
    const Memory memory = Memory::allocate(bytes);
    ASSERT_NE(memory.data(), nullptr);
    EXPECT_GE(memory.bytes(), bytes);
    EXPECT_LT(memory.bytes(), bytes + kHugePage);
    EXPECT_EQ(address(memory) % kCacheLine, 0);
    memory.data()[0] = memory.data()[memory.bytes() - 1] = std::byte{1};
  }
}

TEST(Memory, BigBlocksBeginAtHugePagesAndAreZero) {
  const Memory memory = Memory::allocate(kDirectBytes + 5);
  EXPECT_EQ(address(memory) % kHugePage, 0);
  EXPECT_EQ(memory.bytes() % kHugePage, 0);
  EXPECT_TRUE(std::all_of(memory.data(), memory.data() + memory.bytes(),
                          [](std::byte b) { return b == std::byte{0}; }));
}

TEST(Memory, WhatTheSystemDoesNotHaveIsNull) {
  const Memory memory = Memory::allocate(int64_t{1} << 60);
  EXPECT_EQ(memory.data(), nullptr);
  EXPECT_EQ(memory.bytes(), 0);
}

TEST(Memory, MovesWithItsBytes) {
  Memory a = Memory::allocate(100);
  std::byte* data = a.data();
  Memory b = std::move(a);
  EXPECT_EQ(b.data(), data);
  b = Memory::allocate(kDirectBytes);
  EXPECT_NE(b.data(), data);
  a = std::move(b);
  EXPECT_EQ(a.bytes(), kDirectBytes);
}

}  // namespace
}  // namespace indexshare
