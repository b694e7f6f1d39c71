// indexshare bench: the speed of a checkpoint, or of random weights in a given geometry, at given depths, and
// the limits of the machine.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/bench_machine.h"
#include "cli/bench_model.h"
#include "cli/bench_report.h"
#include "cli/bench_run.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/units.h"

namespace indexshare::cli {
namespace {

constexpr int64_t kMaxTokens = int64_t{1} << 30;
constexpr int64_t kMaxBatch = 4096;
constexpr int64_t kMaxThreads = 1024;

struct Options {
  std::string model;
  BenchGeometry geometry;
  EngineOptions engine;
  BenchPlan plan;
  std::vector<int> threads;  // empty: one per processor
  bool machine = false;
  std::optional<std::string> disk_file;
  std::string plot;
  bool json = false;
};

// The items between commas, each through `read`; none may come twice.
template <typename Read>
auto parse_list(std::string_view flag, std::string_view text, Read read) {
  std::vector<decltype(read(text))> values;
  while (true) {
    const size_t comma = text.find(',');
    auto value = read(text.substr(0, comma));
    if (std::find(values.begin(), values.end(), value) != values.end()) {
      refuse_usage(fmt::format("{} has {} twice", flag, value));
    }
    values.push_back(std::move(value));
    if (comma == std::string_view::npos) return values;
    text.remove_prefix(comma + 1);
  }
}

std::vector<int64_t> parse_depths(std::string_view flag, std::string_view text) {
  return parse_list(flag, text,
                    [&](std::string_view item) { return parse_tokens(flag, item, 0, kMaxTokens); });
}

std::vector<int64_t> parse_batches(std::string_view flag, std::string_view text) {
  return parse_list(flag, text,
                    [&](std::string_view item) { return parse_integer(flag, item, 1, kMaxBatch); });
}

std::vector<int> parse_threads(std::string_view flag, std::string_view text) {
  return parse_list(flag, text, [&](std::string_view item) {
    return static_cast<int>(parse_integer(flag, item, 1, kMaxThreads));
  });
}

std::vector<std::string> parse_patterns(std::string_view flag, std::string_view text) {
  return parse_list(flag, text, [&](std::string_view item) {
    if (item.empty() || item.find_first_not_of("FS") != std::string_view::npos || item[0] != 'F') {
      refuse_value(flag, item, "F (full) and S (shared), beginning with F: \"FSSS\"");
    }
    return std::string(item);
  });
}

std::vector<int> thread_counts(const Options& options) {
  return options.threads.empty() ? std::vector<int>{available_cpus()} : options.threads;
}

Result<BenchModel> make_model(const Options& options) {
  const std::vector<int> threads = thread_counts(options);
  if (!options.model.empty()) return BenchModel::load(options.model, options.engine, threads);
  return BenchModel::random(options.geometry, options.plan.longest(), options.engine, threads);
}

bool has_model(const Options& options) {
  return !options.model.empty() || !options.geometry.source.empty();
}

// Memory and arithmetic with one thread, and with every other number that is asked for.
Result<MachineLimits> measure_limits(const Options& options) {
  WaitingLine waiting("measuring the machine");
  std::vector<int> counts = thread_counts(options);
  if (std::find(counts.begin(), counts.end(), 1) == counts.end()) counts.insert(counts.begin(), 1);
  return measure_machine(counts);
}

// The disk, where it is asked for, or where nothing but the machine is.
Result<std::optional<DiskSpeed>> measure_wanted_disk(const Options& options) {
  if (!options.machine || (!options.disk_file && has_model(options))) return std::optional<DiskSpeed>();
  WaitingLine waiting("measuring the disk");
  ASSIGN_OR_RETURN(DiskSpeed speed, measure_disk(options.disk_file.value_or("")));
  return std::optional(std::move(speed));
}

Result<std::vector<BenchResult>> measure_model(const Options& options) {
  ASSIGN_OR_RETURN(const BenchModel model, make_model(options));
  ProgressLine progress("measuring", "rounds");
  return run_bench(model, options.plan, [&](int64_t done, int64_t total) { progress.update(done, total); });
}

Result<ExitCode> bench(const Options& options) {
  BenchReport report;
  ASSIGN_OR_RETURN(std::optional<DiskSpeed> disk, measure_wanted_disk(options));
  if (has_model(options)) {
    ASSIGN_OR_RETURN(report.results, measure_model(options));
  }
  if (options.machine) {  // when the model is gone: the memory that is read here is no part of its own
    ASSIGN_OR_RETURN(report.machine, measure_limits(options));
    report.machine->disk = std::move(disk);
  }
  if (!options.plot.empty()) RETURN_IF_ERROR(write_file(options.plot, report_svg(report)));
  if (options.json) return print(dump_json(report_json(report), 2) + "\n");
  return print(report.results.empty() ? machine_table(*report.machine) : report_table(report));
}

void add_measurement_flags(CLI::App& command, Options& options) {
  add_value(command, "--depth", options.plan.depths, "N,...", "tokens in the cache before: 0,64K,1M",
            parse_depths);
  add_value(command, "--batch", options.plan.batches, "N,...", "sequences decoded together", parse_batches);
  add_integer<int64_t>(command, "--decode", options.plan.decode_steps, 0, 1 << 20,
                       "decode steps in a round; 0: none");
  add_integer<int64_t>(command, "--prefill", options.plan.prefill_tokens, 0, 1 << 20,
                       "prompt tokens; 0: none");
  add_integer<int64_t>(command, "--repeat", options.plan.repeats, 1, 1000,
                       "rounds of every measurement; medians are told");
  command.add_flag("--machine", options.machine,
                   "also the machine's limits, and each figure's share of them; without a model they alone");
  command
      .add_option("--disk-file", options.disk_file,
                  "with --machine: the file to read (default: a temporary one)")
      ->type_name("FILE");
  command.add_option("--plot", options.plot, "write the curves over the depth to an SVG file")
      ->type_name("FILE");
  command.add_flag("--json", options.json, "results for programs");
}

void add_geometry_flags(CLI::App& command, BenchGeometry& geometry) {
  constexpr const char* kGroup = "Geometry";
  command
      .add_option("--geometry", geometry.source, "random weights in the shape of glm-5.2 or of a config.json")
      ->type_name("NAME|FILE")
      ->group(kGroup);
  const auto integer = [&](const char* flag, int64_t& target, int64_t min, int64_t max, const char* help) {
    add_integer<int64_t>(command, flag, target, min, max, help)->group(kGroup);
  };
  integer("--layers", geometry.layers, 1, 512, "layers, all with experts");
  integer("--experts", geometry.experts, 1, 1024, "routed experts");
  integer("--experts-per-token", geometry.experts_per_token, 1, 1024,
          "experts of one token; by default at most a quarter of the experts");
  integer("--vocab", geometry.vocab, 2, 1 << 20, "tokens of the vocabulary");
  add_value(command, "--pattern", geometry.patterns, "FS...,...",
            "full and shared layers, repeated; several are compared; FSSS with --layers", parse_patterns)
      ->group(kGroup);
  add_value(command, "--dtype", geometry.dtype, "TYPE", "of random weights: bf16, f16, f32 or fp8",
            parse_stored_type)
      ->group(kGroup);
}

void check(const CLI::App& command, const Options& options) {
  const bool has_geometry = !options.geometry.source.empty();
  if (has_geometry && !options.model.empty()) {
    refuse_usage("name either a model directory or a --geometry, not both");
  }
  if (!has_model(options) && !options.machine) {
    refuse_usage("name a model directory, a --geometry, or --machine");
  }
  if (!has_geometry) {
    for (const char* flag :
         {"--layers", "--experts", "--experts-per-token", "--vocab", "--pattern", "--dtype"}) {
      if (command.count(flag) > 0)
        refuse_usage(fmt::format("{} changes a --geometry, and none is named", flag));
    }
  }
  if (!has_model(options) && !options.plot.empty()) {
    refuse_usage("--plot draws what is measured of a model, and none is named");
  }
  if (options.disk_file && !options.machine) refuse_usage("--disk-file is a part of --machine");
  if (options.plan.decode_steps == 0 && options.plan.prefill_tokens == 0) {
    refuse_usage("--decode and --prefill are both 0: there is nothing to measure");
  }
}

}  // namespace

Action add_bench(CLI::App& command) {
  auto options = std::make_shared<Options>();
  command.add_option("MODEL", options->model, "model directory; or random weights with --geometry");
  add_measurement_flags(command, *options);
  add_geometry_flags(command, options->geometry);
  add_engine_flags(command, options->engine);
  // Here --threads is a list.
  command.remove_option(command.get_option("--threads"));
  add_value(command, "--threads", options->threads, "N,...",
            "threads to compute with; several are measured by turns (default: one per processor)",
            parse_threads)
      ->group("Engine");
  command.parse_complete_callback([options, &command] { check(command, *options); });
  return [options] { return bench(*options); };
}

}  // namespace indexshare::cli
