#include "cli/bench_machine.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "cli/units.h"

namespace indexshare::cli {
namespace {

// What the barrier is set against: a decoded token of GLM-5.2 with fp8 weights (its config.json).
constexpr int64_t kLayers = 78;
constexpr int64_t kLoopsPerLayer = 16;   // at most: projections, index, attention, router, experts
constexpr double kBytesPerToken = 40e9;  // one per active parameter

std::string processor_name() {
  const auto text = read_file("/proc/cpuinfo", 1 << 24);
  if (!text) return "unknown";
  constexpr std::string_view kField = "model name";
  const size_t field = text->find(kField);
  const size_t colon = text->find(':', field);
  if (field == std::string::npos || colon == std::string::npos) return "unknown";
  const size_t begin = text->find_first_not_of(" \t", colon + 1);
  return begin == std::string::npos ? "unknown" : text->substr(begin, text->find('\n', begin) - begin);
}

const ThreadLimits& limits_of(const MachineLimits& machine, int threads) {
  const auto at = std::find_if(machine.by_threads.begin(), machine.by_threads.end(),
                               [&](const ThreadLimits& limits) { return limits.threads == threads; });
  return at != machine.by_threads.end() ? *at : machine.by_threads.back();
}

// The fastest loop of a table for a type; 0 where it has none.
double peak_of(const MachineLimits& machine, const ThreadLimits& limits, std::string_view isa,
               std::string_view type) {
  double best = 0;
  for (size_t i = 0; i < machine.loops.size(); ++i) {
    const cpu::PeakLoop& loop = machine.loops[i];
    if (loop.type == type && (isa.empty() || loop.isa == isa)) best = std::max(best, limits.peaks[i].cpu);
  }
  return best;
}

struct BarrierCost {
  double seconds_per_step, share_of_step;
};
BarrierCost barrier_cost(const ThreadLimits& limits) {
  const double seconds = static_cast<double>(kLayers * kLoopsPerLayer) * limits.barrier_seconds;
  return {seconds, seconds / (seconds + kBytesPerToken / limits.read.cpu)};
}

}  // namespace

Result<MachineLimits> measure_machine(const std::vector<int>& thread_counts) {
  MachineLimits machine;
  machine.processor = processor_name();
  machine.loops = cpu::available_peak_loops();
  machine.read_bytes = cpu::read_area_bytes();
  ThreadPool all(*std::max_element(thread_counts.begin(), thread_counts.end()));
  ASSIGN_OR_RETURN(const Memory area, cpu::make_read_area(machine.read_bytes, all));
  for (const int threads : thread_counts) {
    ThreadPool pool(threads);
    ThreadLimits& limits = machine.by_threads.emplace_back();
    limits.threads = threads;
    limits.read = cpu::measure_read(area, pool);
    for (const cpu::PeakLoop& loop : machine.loops) limits.peaks.push_back(cpu::measure_peak(loop, pool));
    limits.barrier_seconds = cpu::measure_barrier(pool);
  }
  return machine;
}

Bound bound_of(const MachineLimits& machine, int threads, std::string_view isa, FloatType compute,
               double bytes, double operations) {
  const ThreadLimits& limits = limits_of(machine, threads);
  Bound bound;
  bound.read_bytes_per_second = limits.read.cpu;
  double operations_of_f32 = peak_of(machine, limits, isa, "f32");
  if (operations_of_f32 == 0) {  // a table of other products leaves f32 to one below it
    operations_of_f32 = peak_of(machine, limits, "", "f32");
  }
  bound.operations_per_second = operations_of_f32;
  if (compute == FloatType::bf16) {
    bound.operations_per_second = std::max(operations_of_f32, peak_of(machine, limits, isa, "bf16"));
  }
  const double reading = bytes / bound.read_bytes_per_second;
  const double arithmetic = operations / bound.operations_per_second;
  bound.seconds = std::max(reading, arithmetic);
  bound.is_reading = reading >= arithmetic;
  return bound;
}

Json machine_json(const MachineLimits& machine) {
  Json json = {{"processor", machine.processor}, {"read_bytes", machine.read_bytes}};
  json["limits"] = Json::array();
  for (const ThreadLimits& limits : machine.by_threads) {
    const BarrierCost barrier = barrier_cost(limits);
    Json entry = {{"threads", limits.threads},
                  {"read_gb_per_second", limits.read.cpu * 1e-9},
                  {"read_gb_per_second_wall", limits.read.wall * 1e-9},
                  {"peaks", Json::array()},
                  {"barrier_us", limits.barrier_seconds * 1e6},
                  {"barriers_ms_per_step", barrier.seconds_per_step * 1e3},
                  {"barriers_share_of_step", barrier.share_of_step}};
    for (size_t i = 0; i < machine.loops.size(); ++i) {
      const cpu::PeakLoop& loop = machine.loops[i];
      entry["peaks"].push_back({{"isa", loop.isa},
                                {"type", loop.type},
                                {"instruction", loop.instruction},
                                {"gops_per_second", limits.peaks[i].cpu * 1e-9},
                                {"gops_per_second_wall", limits.peaks[i].wall * 1e-9}});
    }
    json["limits"].push_back(std::move(entry));
  }
  if (machine.disk) {
    json["disk"] = {{"what", machine.disk->what},
                    {"bytes", machine.disk->bytes},
                    {"gb_per_second", machine.disk->bytes_per_second * 1e-9}};
  }
  return json;
}

std::string machine_table(const MachineLimits& machine) {
  std::string text = machine.processor + "\n";
  const auto row = [&](const std::string& what, const char* unit, auto figure) {
    text += fmt::format("{:<52}{:<10}", what, unit);
    for (const ThreadLimits& limits : machine.by_threads) text += fmt::format("{:>12.2f}", figure(limits));
    text += "\n";
  };
  text += fmt::format("{:<62}", "threads");
  for (const ThreadLimits& limits : machine.by_threads) text += fmt::format("{:>12}", limits.threads);
  text += "\n";
  const std::string area = fmt::format("reading {} of memory", bytes_text(machine.read_bytes));
  row(area, "GB/s", [](const ThreadLimits& limits) { return limits.read.cpu * 1e-9; });
  row(area + ", by wall time", "GB/s", [](const ThreadLimits& limits) { return limits.read.wall * 1e-9; });
  for (size_t i = 0; i < machine.loops.size(); ++i) {
    const cpu::PeakLoop& loop = machine.loops[i];
    row(fmt::format("{} {} ({})", loop.isa, loop.type, loop.instruction), "Gop/s",
        [&](const ThreadLimits& limits) { return limits.peaks[i].cpu * 1e-9; });
  }
  row("a loop of one item per thread", "us",
      [](const ThreadLimits& limits) { return limits.barrier_seconds * 1e6; });
  row(fmt::format("{} layers of {} such loops", kLayers, kLoopsPerLayer), "ms",
      [](const ThreadLimits& limits) { return barrier_cost(limits).seconds_per_step * 1e3; });
  row(fmt::format("of a step that reads {}", bytes_text(static_cast<int64_t>(kBytesPerToken))), "%",
      [](const ThreadLimits& limits) { return barrier_cost(limits).share_of_step * 100; });
  if (machine.disk) {
    text += fmt::format("{:<52}{:<10}{:>12.2f}\n", "reading " + bytes_text(machine.disk->bytes) + " of disk",
                        "GB/s", machine.disk->bytes_per_second * 1e-9);
    text += fmt::format("  {}\n", machine.disk->what);
  }
  return text + "Memory and arithmetic: the best of a few runs, by the CPU time of the slowest thread.\n";
}

}  // namespace indexshare::cli
