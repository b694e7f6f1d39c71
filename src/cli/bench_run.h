// Measures decode and prefill of a model at given depths, without hours of prefill: the cache below a depth
// is filled with random values of the spread that norms give to real ones (bench_fill.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "cli/bench_model.h"
#include "indexshare/result.h"
#include "model/flops.h"

namespace indexshare::cli {

struct BenchPlan {
  std::vector<int64_t> depths = {0};
  std::vector<int64_t> batches = {1};  // sequences decoded together
  int64_t decode_steps = 8;            // in one round; 0: no decode
  int64_t prefill_tokens = 512;        // 0: no prefill
  int64_t repeats = 3;                 // rounds through all variants, forth and back

  int64_t longest() const;  // tokens of the longest sequence
};

/// What took how long: of one step or prompt, or the medians of many. Milliseconds per token.
struct BenchTimes {
  double wall = 0;
  double cpu = 0;                      // of all threads
  std::array<double, kParts> parts{};  // wall

  double part(Part p) const { return parts[static_cast<size_t>(p)]; }
  /// All that belongs to attention: the index, attention itself and its projections.
  double attention_stack() const {
    return part(Part::index) + part(Part::attention) + part(Part::projections);
  }
};

struct BenchResult {
  std::string phase;  // "decode" or "prefill"
  int64_t depth = 0;
  int64_t batch = 1;
  int threads = 1;
  std::string pattern;  // "FSSS"
  std::string dtype;    // of the weights
  std::string isa;
  FloatType compute = FloatType::bf16;
  int64_t runs = 0;  // steps or prompts measured
  BenchTimes median;
  double least_cpu = 0;        // ms per token
  double flops = 0;            // per token
  double bytes = 0;            // per token: weights, cache rows and index keys, each read once in a pass
  int64_t weight_bytes = 0;    // read to decode one token alone
  int64_t peak_rss_bytes = 0;  // of the process, so far
  FlopCount formula;           // of a token at this depth (model/flops.h, latent form)

  double gb_per_second() const { return bytes / median.wall * 1e-6; }
  double gflops_per_second() const { return flops / median.wall * 1e-6; }
};

/// Runs everything that the plan asks for: at each depth all variants by turns, so that what else the machine
/// does falls on all alike. The results are in the order of depths, phases, batches and variants. `progress`
/// hears how many of how many measurements are done.
Result<std::vector<BenchResult>> run_bench(const BenchModel& model, const BenchPlan& plan,
                                           FunctionRef<void(int64_t done, int64_t total)> progress);

}  // namespace indexshare::cli
