// The limits of the machine that a benchmark runs on: measured, as a table and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/disk_speed.h"
#include "cpu/machine_limits.h"
#include "indexshare/result.h"
#include "ops/backend.h"

namespace indexshare::cli {

/// What one number of threads reaches.
struct ThreadLimits {
  int threads = 1;
  cpu::Speed read;                // bytes
  std::vector<cpu::Speed> peaks;  // operations of each of MachineLimits::loops
  double barrier_seconds = 0;
};

struct MachineLimits {
  std::string processor;  // as it calls itself
  std::vector<cpu::PeakLoop> loops;
  int64_t read_bytes = 0;  // of memory, in one pass
  std::vector<ThreadLimits> by_threads;
  std::optional<DiskSpeed> disk;
};

/// Takes about two seconds for each number of threads.
Result<MachineLimits> measure_machine(const std::vector<int>& thread_counts);

/// The least time, in seconds of every thread, that a step can take: that of reading its bytes or that of its
/// arithmetic on the kernel table that does it.
struct Bound {
  double read_bytes_per_second = 0;
  double operations_per_second = 0;
  double seconds = 0;
  bool is_reading = false;  // else arithmetic
};
Bound bound_of(const MachineLimits& machine, int threads, std::string_view isa, FloatType compute,
               double bytes, double operations);

Json machine_json(const MachineLimits& machine);
std::string machine_table(const MachineLimits& machine);

}  // namespace indexshare::cli
