// Measures decode and prefill of a model at given depths, without hours of prefill: the cache below a depth
// is filled with random values of the spread that norms give to real ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "indexshare/result.h"

namespace indexshare::cli {

struct BenchPlan {
  std::vector<int64_t> depths = {0};
  std::vector<int64_t> batches = {1};  // sequences decoded together
  int64_t decode_steps = 8;            // 0: no decode
  int64_t prefill_tokens = 512;        // 0: no prefill
  int64_t repeats = 3;                 // of prefill
};

struct BenchResult {
  std::string phase;  // "decode" or "prefill"
  int64_t depth = 0;
  int64_t batch = 1;
  int threads = 1;
  std::string pattern;  // "FSSS"
  std::string dtype;    // of the weights
  std::string isa;
  double ms_per_token = 0;      // wall, median over steps or repeats
  double cpu_ms_per_token = 0;  // of all threads, median
  Profile profile;              // of all measured tokens
  int64_t tokens = 0;           // measured
  int64_t weight_bytes = 0;     // read per step
  int64_t peak_rss_bytes = 0;   // of the process, so far

  double part_ms(Part part) const { return 1e3 * profile.seconds(part) / static_cast<double>(tokens); }
  double gflops_per_second() const {
    return static_cast<double>(profile.total_flops()) / profile.total_seconds() * 1e-9;
  }
};

/// Runs everything that the plan asks for, in its order. `progress` hears what is about to be measured.
Result<std::vector<BenchResult>> run_bench(Engine& engine, const BenchPlan& plan,
                                           FunctionRef<void(const std::string&)> progress);

}  // namespace indexshare::cli
