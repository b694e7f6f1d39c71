#include "cache/page_pool.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <vector>

namespace indexshare {
namespace {

/// `bytes` a page, a multiple of 512.
CacheLayout layout_of(int64_t bytes) {
  return {DType::bf16, bytes / (2 * kPageTokens), 8, {false}};
}

int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

std::vector<std::byte*> take_all(PagePool& pool) {
  std::vector<std::byte*> pages;
  while (std::byte* page = pool.allocate()) pages.push_back(page);
  return pages;
}

TEST(PagePool, TakesNothingBeforeItIsAsked) {
  PagePool pool(layout_of(4096), 0);
  EXPECT_EQ(pool.allocated_bytes(), 0);
  EXPECT_EQ(pool.pages_in_use(), 0);
}

TEST(PagePool, TouchesOnlyThePagesItHandsOut) {
  constexpr int64_t kPageBytes = 128 << 10;
  const int64_t before = resident_bytes();
  std::vector<PagePool> pools;
  int64_t allocated = 0;
  for (int i = 0; i < 16; ++i) {
    pools.emplace_back(layout_of(kPageBytes), 0);
    pools.back().allocate();
    allocated += pools.back().allocated_bytes();
  }
  EXPECT_GE(allocated, 16 * 32 * kPageBytes) << "slabs are too small for this test to mean anything";
  EXPECT_LT(resident_bytes() - before, allocated / 2);
}

TEST(PagePool, PagesAreZeroAlignedAndApart) {
  for (const int64_t bytes : {512, 1536, 4096, 100 * 512}) {
    PagePool pool(layout_of(bytes), 0);
    ASSERT_EQ(pool.layout().page_bytes, bytes);
    std::set<std::byte*> pages;
    for (int i = 0; i < 200; ++i) {
      std::byte* page = pool.allocate();
      ASSERT_NE(page, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(page) % 64, 0u);
      EXPECT_TRUE(std::all_of(page, page + bytes, [](std::byte b) { return b == std::byte{0}; }));
      std::fill_n(page, bytes, std::byte{0xff});
      pages.insert(page);
    }
    const auto overlap = [&](std::byte* a, std::byte* b) { return b - a < bytes; };
    EXPECT_EQ(std::adjacent_find(pages.begin(), pages.end(), overlap), pages.end());
    EXPECT_EQ(pool.pages_in_use(), 200);
  }
}

TEST(PagePool, ReusedPagesAreZeroAgain) {
  PagePool pool(layout_of(4096), 4096);
  std::byte* page = pool.allocate();
  ASSERT_NE(page, nullptr);
  std::fill_n(page, 4096, std::byte{0xff});
  EXPECT_EQ(pool.allocate(), nullptr);
  pool.release(page);
  EXPECT_EQ(pool.pages_in_use(), 0);
  EXPECT_EQ(pool.allocate(), page);
  EXPECT_TRUE(std::all_of(page, page + 4096, [](std::byte b) { return b == std::byte{0}; }));
}

TEST(PagePool, HandsOutAsManyPagesAsTheBudgetHolds) {
  for (const int64_t pages : {1, 3, 63, 64, 65, 130}) {
    for (const int64_t spare : {0, 1, 4095}) {
      PagePool pool(layout_of(4096), pages * 4096 + spare);
      EXPECT_EQ(std::ssize(take_all(pool)), pages) << "spare " << spare;
      EXPECT_LE(pool.allocated_bytes(), pool.budget_bytes());
      EXPECT_EQ(pool.pages_in_use(), pages);
    }
  }
  PagePool too_small(layout_of(4096), 4095);
  EXPECT_EQ(too_small.allocate(), nullptr);
  EXPECT_EQ(too_small.allocated_bytes(), 0);
}

TEST(PagePool, ReleasedPagesServeAgainWithoutNewMemory) {
  PagePool pool(layout_of(4096), 100 * 4096);
  for (int round = 0; round < 5; ++round) {
    const std::vector<std::byte*> pages = take_all(pool);
    ASSERT_EQ(pages.size(), 100u);
    EXPECT_EQ(std::set<std::byte*>(pages.begin(), pages.end()).size(), 100u);
    for (std::byte* page : pages) pool.release(page);
    EXPECT_EQ(pool.pages_in_use(), 0);
  }
  EXPECT_EQ(pool.allocated_bytes(), 100 * 4096);
}

}  // namespace
}  // namespace indexshare
