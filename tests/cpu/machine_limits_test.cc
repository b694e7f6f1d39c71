// What can be said of measured limits on any machine, however busy.
#include "cpu/machine_limits.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "cpu/kernels.h"

namespace indexshare::cpu {
namespace {

TEST(MachineLimits, EveryLoopBelongsToAnAvailableTable) {
  std::set<std::string> tables, measured;
  for (const Kernels* table : available_kernels()) tables.insert(table->name);
  for (const PeakLoop& loop : available_peak_loops()) {
    EXPECT_TRUE(tables.contains(loop.isa)) << loop.isa;
    measured.insert(loop.isa);
  }
  EXPECT_EQ(measured, tables);
}

TEST(MachineLimits, NoLoopIsFasterThanProcessorsCanBe) {
  ThreadPool pool(1);
  for (const PeakLoop& loop : available_peak_loops()) {
    const Speed speed = measure_peak(loop, pool);
    EXPECT_GT(speed.wall, 1e6) << loop.isa << " " << loop.instruction;
    // A loop of which the compiler left nothing would seem to do more than this in a cycle of 8 GHz.
    const double per_cycle = std::string(loop.isa) == "amx"     ? 8192
                             : std::string(loop.type) == "int8" ? 512
                                                                : 128;
    EXPECT_LT(speed.cpu, 8e9 * per_cycle) << loop.isa << " " << loop.instruction;
  }
}

TEST(MachineLimits, AreaIsReadByAnyNumberOfThreads) {
  ThreadPool two(2), three(3);
  const auto area = make_read_area((64 << 20) + 1, two);
  ASSERT_TRUE(area.ok()) << area.error().message;
  EXPECT_GE(area->bytes(), (64 << 20) + 1);
  EXPECT_GT(measure_read(*area, two).wall, 1e6);
  EXPECT_GT(measure_read(*area, three).cpu, 1e6);
  EXPECT_GE(read_area_bytes(), 2 << 20);
}

TEST(MachineLimits, BarrierTakesTime) {
  ThreadPool two(2);
  EXPECT_GT(measure_barrier(two), 1e-9);
}

}  // namespace
}  // namespace indexshare::cpu
