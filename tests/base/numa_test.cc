#include "base/numa.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/thread_pool.h"

namespace indexshare {
namespace {

TEST(Numa, AProcessHasANodeToTakeMemoryFrom) {
  EXPECT_GE(numa_nodes(), 1);
}

TEST(Numa, ABoundThreadRunsOnProcessorsOfItsNode) {
  for (int node = 0; node < numa_nodes(); ++node) {
    int cpus = 0;
    std::thread([&] {
      bind_thread_to_node(node);
      cpus = available_cpus();
    }).join();
    EXPECT_GE(cpus, 1);
    EXPECT_LE(cpus, available_cpus());
  }
}

TEST(Numa, SpreadMemoryIsMemory) {
  for (const int64_t bytes : {int64_t{100}, 3 * kDirectBytes}) {
    const Memory memory = Memory::allocate(bytes);
    ASSERT_NE(memory.data(), nullptr);
    spread_over_nodes(memory);
    for (int64_t i = 0; i < bytes; i += 64) memory.data()[i] = std::byte{1};
    EXPECT_EQ(memory.data()[bytes / 64 * 64 - 64], std::byte{1});
  }
}

}  // namespace
}  // namespace indexshare
