// What a benchmark has measured, as JSON, as a table and as curves.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/bench_machine.h"
#include "cli/bench_run.h"

namespace indexshare::cli {

struct BenchReport {
  std::vector<BenchResult> results;
  std::optional<MachineLimits> machine;  // where the limits were measured too
};

/// How much longer the schedule with the most full layers takes than another one in the same run, and how
/// much more arithmetic it is.
struct ScheduleRatio {
  const BenchResult* slow;
  const BenchResult* fast;

  double index() const;
  double attention_stack() const;
  double step() const;
  double formula_index() const;
  double formula_step() const;
};
std::vector<ScheduleRatio> schedule_ratios(const std::vector<BenchResult>& results);

Json report_json(const BenchReport& report);
std::string report_table(const BenchReport& report);
std::string report_svg(const BenchReport& report);

}  // namespace indexshare::cli
