#include "base/buffer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

namespace indexshare {
namespace {

TEST(Buffer, IsAlignedToCacheLines) {
  for (int64_t size = 1; size < 200; size += 13) {
    const Buffer<char> buffer(size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % static_cast<uintptr_t>(kCacheLine), 0u);
  }
}

TEST(Buffer, ShrinkingKeepsTheMemory) {
  Buffer<int> buffer(100);
  for (int i = 0; i < 100; ++i) buffer[i] = i;
  const int* data = buffer.data();
  buffer.resize(3);
  EXPECT_EQ(buffer.size(), 3);
  EXPECT_EQ(buffer.bytes(), 448) << "whole cache lines";
  buffer.resize(100);
  EXPECT_EQ(buffer.data(), data);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(buffer[i], i);
}

TEST(Buffer, GrowsToWhatIsAsked) {
  Buffer<int> buffer;
  EXPECT_EQ(buffer.size(), 0);
  EXPECT_TRUE(buffer.span().empty());
  buffer.resize(5);
  buffer.resize(1000);
  EXPECT_EQ(buffer.size(), 1000);
  EXPECT_EQ(buffer.span().size(), 1000u);
  for (int& x : buffer.span()) x = 1;
}

TEST(Buffer, AMovedFromOneIsEmptyAndUsable) {
  Buffer<int> a(8);
  a[7] = 7;
  Buffer<int> b(std::move(a));
  EXPECT_EQ(b.size(), 8);
  EXPECT_EQ(b[7], 7);
  EXPECT_EQ(a.size(), 0);
  EXPECT_EQ(a.bytes(), 0);
  a.resize(4);
  ASSERT_NE(a.data(), nullptr);
  a[3] = 3;
  b = std::move(a);
  EXPECT_EQ(b.size(), 4);
  EXPECT_EQ(b[3], 3);
}

}  // namespace
}  // namespace indexshare
