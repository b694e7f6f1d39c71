// What this machine can do at best, measured: the limits beside which figures of speed are stated.
#pragma once

#include <cstdint>
#include <vector>

#include "base/memory.h"
#include "base/thread_pool.h"
#include "indexshare/result.h"

namespace indexshare::cpu {

/// A loop of multiply-adds whose operands stay in registers. Kernels of the table `isa` cannot be faster.
struct PeakLoop {
  const char* isa;          // as the kernel table is called
  const char* type;         // of the factors: "f32", "bf16" or "int8"
  const char* instruction;  // "vfmadd231ps"
  int64_t operations;       // of one round, 2 per multiply-add
  void (*run)(int64_t rounds);
};

/// How much is done in a second, by two clocks. On a machine that others use too, the time that the slowest
/// thread was given tells more than the time that passed.
struct Speed {
  double wall = 0;
  double cpu = 0;
};

/// The loops that this machine can run, in the order of its kernel tables.
std::vector<PeakLoop> available_peak_loops();

/// Operations per second of all threads of the pool together; the best of a few short runs.
Speed measure_peak(const PeakLoop& loop, ThreadPool& pool);

/// How much memory to read so that caches do not count: four times the largest, at least 1 GiB, at most a
/// quarter of what is free.
int64_t read_area_bytes();

/// Memory to be read by measure_read(), as big arrays are kept (base/memory.h), every page of it in place.
Result<Memory> make_read_area(int64_t bytes, ThreadPool& pool);

/// Bytes per second of reading the area once, each thread a part of its own; the best of a few passes.
Speed measure_read(const Memory& area, ThreadPool& pool);

/// Seconds of a loop in which each thread takes one item and waits for the others: what a step pays each time
/// its threads meet, on processors that nobody else wants.
double measure_barrier(ThreadPool& pool);

}  // namespace indexshare::cpu
