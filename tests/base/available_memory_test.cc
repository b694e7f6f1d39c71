#include "base/available_memory.h"

#include <gtest/gtest.h>

#include <fstream>

#include "temporary_directory.h"

namespace indexshare {
namespace {

class AvailableMemory : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const auto file = directory_.path() / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void machine_with(int64_t kilobytes) {
    write("proc/meminfo", "MemTotal:       99999999 kB\nMemFree: 5 kB\nMemAvailable:  " +
                              std::to_string(kilobytes) + " kB\nBuffers: 7 kB\n");
  }
  std::optional<int64_t> available() const { return available_memory(directory_.path()); }

  TemporaryDirectory directory_;
};

TEST_F(AvailableMemory, IsNotKnownWhereTheSystemDoesNotSay) {
  EXPECT_EQ(available(), std::nullopt);
  write("proc/meminfo", "MemFree: 5 kB\n");
  EXPECT_EQ(available(), std::nullopt);
  write("proc/meminfo", "MemAvailable: many kB\n");
  EXPECT_EQ(available(), std::nullopt);
}

TEST_F(AvailableMemory, IsTheMachinesWithoutGroups) {
  machine_with(1000);
  EXPECT_EQ(available(), 1000 * 1024);
  write("proc/self/cgroup", "0::/user/shell\n");
  EXPECT_EQ(available(), 1000 * 1024);
}

TEST_F(AvailableMemory, IsWhatTheTightestGroupLeaves) {
  machine_with(1000);
  write("proc/self/cgroup", "1:name=systemd:/x\n0::/outer/inner\n");
  write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  write("sys/fs/cgroup/outer/inner/memory.current", "100\n");
  EXPECT_EQ(available(), 1000 * 1024);
  write("sys/fs/cgroup/outer/memory.max", "50000\n");
  write("sys/fs/cgroup/outer/memory.current", "20000\n");
  EXPECT_EQ(available(), 30000);
  write("sys/fs/cgroup/outer/memory.stat", "anon 7\nactive_file 900\ninactive_file 5000\n");
  EXPECT_EQ(available(), 35000) << "cached files can go";
  write("sys/fs/cgroup/memory.max", "100\n");  // a container shows its own group at the top
  write("sys/fs/cgroup/memory.current", "120\n");
  EXPECT_EQ(available(), 0);
}

TEST_F(AvailableMemory, KnowsTheFirstVersionOfGroups) {
  machine_with(1000);
  write("proc/self/cgroup", "4:cpuset,cpu:/a\n3:memory:/a\n0::/\n");
  write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "60000\n");
  write("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "30000\n");
  write("sys/fs/cgroup/memory/a/memory.stat", "inactive_file 1\ntotal_inactive_file 10000\n");
  EXPECT_EQ(available(), 40000);
  write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n");  // none, in its spelling
  EXPECT_EQ(available(), 1000 * 1024);
}

TEST(AvailableMemoryOfThisMachine, IsSomething) {
  const auto available = available_memory();
  if (!available) GTEST_SKIP() << "no /proc/meminfo here";
  EXPECT_GT(*available, 0);
}

}  // namespace
}  // namespace indexshare
