#include "cli/bench_report.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/error.h"
#include "cli/svg_plot.h"
#include "cli/units.h"

namespace indexshare::cli {
namespace {

constexpr size_t kLongestPattern = 12;  // that a table shows

std::optional<Bound> bound_of(const BenchReport& report, const BenchResult& r) {
  if (!report.machine) return std::nullopt;
  return bound_of(*report.machine, r.threads, r.isa, r.compute, r.bytes, r.flops);
}

// The bound's share of the CPU time of a thread: other programs count in neither.
double share_of(const Bound& bound, const BenchResult& r) {
  return bound.seconds * 1e3 * r.threads / r.median.cpu;
}

std::string_view bound_name(const Bound& bound) {
  return bound.is_reading ? "memory" : "arithmetic";
}

int64_t full_layers(const BenchResult& r) {
  return std::count(r.pattern.begin(), r.pattern.end(), 'F');
}

bool are_comparable(const BenchResult& a, const BenchResult& b) {
  return std::tie(a.phase, a.depth, a.batch, a.threads) == std::tie(b.phase, b.depth, b.batch, b.threads);
}

double over(double slow, double fast) {
  return fast > 0 ? slow / fast : 0;
}

Json result_json(const BenchReport& report, const BenchResult& r) {
  Json parts;
  for (int i = 0; i < kParts; ++i) {
    const auto part = static_cast<Part>(i);
    parts[std::string(part_name(part))] = r.median.part(part);
  }
  Json json = {{"phase", r.phase},
               {"depth", r.depth},
               {"batch", r.batch},
               {"threads", r.threads},
               {"pattern", r.pattern},
               {"dtype", r.dtype},
               {"isa", r.isa},
               {"runs", r.runs},
               {"ms_per_token", r.median.wall},
               {"cpu_ms_per_token", r.median.cpu},
               {"least_cpu_ms_per_token", r.least_cpu},
               {"parts_ms", parts},
               {"flops_per_token", r.flops},
               {"bytes_per_token", r.bytes},
               {"gflops_per_second", r.gflops_per_second()},
               {"gb_per_second", r.gb_per_second()},
               {"weight_bytes_per_step", r.weight_bytes},
               {"peak_rss_bytes", r.peak_rss_bytes}};
  if (const auto bound = bound_of(report, r)) {
    json["limit_gb_per_second"] = bound->read_bytes_per_second * 1e-9;
    json["limit_gflops_per_second"] = bound->operations_per_second * 1e-9;
    json["bound"] = bound_name(*bound);
    json["share_of_bound"] = share_of(*bound, r);
  }
  return json;
}

Json ratio_json(const ScheduleRatio& ratio) {
  return {{"phase", ratio.fast->phase},
          {"depth", ratio.fast->depth},
          {"batch", ratio.fast->batch},
          {"threads", ratio.fast->threads},
          {"pattern", ratio.fast->pattern},
          {"slow_pattern", ratio.slow->pattern},
          {"index", ratio.index()},
          {"attention_stack", ratio.attention_stack()},
          {"step", ratio.step()},
          {"formula_index", ratio.formula_index()},
          {"formula_step", ratio.formula_step()}};
}

bool shows_pattern(const std::vector<BenchResult>& results) {
  return results.front().pattern.size() <= kLongestPattern;
}

std::string header_line(const BenchReport& report) {
  const BenchResult& r = report.results.front();
  return fmt::format("{} weights, {} of them read to decode a token, {} compute, {} kernels{}\n", r.dtype,
                     bytes_text(r.weight_bytes), float_type_name(r.compute), r.isa,
                     shows_pattern(report.results) ? "" : ", schedule " + r.pattern);
}

std::string ratio_lines(const std::vector<BenchResult>& results) {
  std::string text;
  for (const ScheduleRatio& ratio : schedule_ratios(results)) {
    const BenchResult& r = *ratio.fast;
    text += fmt::format(
        "{} at depth {}{}{}: {} takes {:.2f} times as long as {}, {:.2f} times in attention with its "
        "index and projections, {:.2f} times in the index (by FLOPs: {:.2f}, index {:.2f})\n",
        r.phase, r.depth, r.batch > 1 ? fmt::format(", batch {}", r.batch) : "",
        r.threads > 1 ? fmt::format(", {} threads", r.threads) : "", ratio.slow->pattern, ratio.step(),
        r.pattern, ratio.attention_stack(), ratio.index(), ratio.formula_step(), ratio.formula_index());
  }
  return text;
}

// What curves differ in besides the depth: (pattern, batch, threads).
using CurveKey = std::tuple<std::string, int64_t, int>;

CurveKey key_of(const BenchResult& r) {
  return {r.pattern, r.batch, r.threads};
}

std::vector<CurveKey> curve_keys(const std::vector<BenchResult>& results, std::string_view phase) {
  std::vector<CurveKey> keys;
  for (const BenchResult& r : results) {
    if (r.phase == phase && std::find(keys.begin(), keys.end(), key_of(r)) == keys.end()) {
      keys.push_back(key_of(r));
    }
  }
  return keys;
}

std::string curve_name(const CurveKey& key) {
  const auto& [pattern, batch, threads] = key;
  std::string name = pattern.size() <= kLongestPattern ? pattern : "step";
  if (batch > 1) name += fmt::format(" x {}", batch);
  return name + (threads > 1 ? fmt::format(", {} threads", threads) : "");
}

PlotPanel time_panel(const std::vector<BenchResult>& results, std::string_view phase) {
  PlotPanel panel = {
      .title = std::string(phase), .x_name = "depth, tokens", .y_name = "ms per token", .curves = {}};
  const std::vector<CurveKey> keys = curve_keys(results, phase);
  for (size_t i = 0; i < keys.size(); ++i) {
    PlotCurve whole = {.name = curve_name(keys[i]), .points = {}, .color = i, .stroke = Stroke::solid};
    PlotCurve index = {.name = whole.name + ", index", .points = {}, .color = i, .stroke = Stroke::dashed};
    PlotCurve attention = {
        .name = whole.name + ", attention", .points = {}, .color = i, .stroke = Stroke::dotted};
    for (const BenchResult& r : results) {
      if (r.phase != phase || key_of(r) != keys[i]) continue;
      const auto depth = static_cast<double>(r.depth);
      whole.points.push_back({depth, r.median.wall});
      index.points.push_back({depth, r.median.part(Part::index)});
      attention.points.push_back({depth, r.median.part(Part::attention)});
    }
    for (PlotCurve* curve : {&whole, &index, &attention}) panel.curves.push_back(std::move(*curve));
  }
  return panel;
}

PlotPanel ratio_panel(const std::vector<BenchResult>& results, std::string_view phase) {
  const std::vector<ScheduleRatio> ratios = schedule_ratios(results);
  PlotPanel panel = {.title = "", .x_name = "depth, tokens", .y_name = "times as long", .curves = {}};
  if (ratios.empty()) return panel;
  panel.title = fmt::format("{} with {}, against this schedule", phase, ratios.front().slow->pattern);
  const std::vector<CurveKey> keys = curve_keys(results, phase);
  for (size_t i = 0; i < keys.size(); ++i) {
    PlotCurve step = {
        .name = curve_name(keys[i]) + ", step", .points = {}, .color = i, .stroke = Stroke::solid};
    PlotCurve formula = {.name = step.name + " by FLOPs", .points = {}, .color = i, .stroke = Stroke::dotted};
    PlotCurve stack = {.name = curve_name(keys[i]) + ", attention stack",
                       .points = {},
                       .color = i,
                       .stroke = Stroke::dashed};
    PlotCurve index = {.name = curve_name(keys[i]) + ", index",
                       .points = {},
                       .color = i + keys.size(),
                       .stroke = Stroke::solid};
    for (const ScheduleRatio& ratio : ratios) {
      if (ratio.fast->phase != phase || key_of(*ratio.fast) != keys[i]) continue;
      const auto depth = static_cast<double>(ratio.fast->depth);
      step.points.push_back({depth, ratio.step()});
      formula.points.push_back({depth, ratio.formula_step()});
      stack.points.push_back({depth, ratio.attention_stack()});
      index.points.push_back({depth, ratio.index()});
    }
    if (step.points.empty()) continue;
    for (PlotCurve* curve : {&step, &formula, &stack, &index}) panel.curves.push_back(std::move(*curve));
  }
  return panel;
}

}  // namespace

double ScheduleRatio::index() const {
  return over(slow->median.part(Part::index), fast->median.part(Part::index));
}
double ScheduleRatio::attention_stack() const {
  return over(slow->median.attention_stack(), fast->median.attention_stack());
}
double ScheduleRatio::step() const {
  return over(slow->median.wall, fast->median.wall);
}
double ScheduleRatio::formula_index() const {
  return over(static_cast<double>(slow->formula[Part::index]),
              static_cast<double>(fast->formula[Part::index]));
}
double ScheduleRatio::formula_step() const {
  return over(static_cast<double>(slow->formula.total()), static_cast<double>(fast->formula.total()));
}

std::vector<ScheduleRatio> schedule_ratios(const std::vector<BenchResult>& results) {
  std::vector<ScheduleRatio> ratios;
  for (const BenchResult& fast : results) {
    const BenchResult* slow = &fast;
    for (const BenchResult& other : results) {
      if (are_comparable(other, fast) && full_layers(other) > full_layers(*slow)) slow = &other;
    }
    if (slow != &fast) ratios.push_back({.slow = slow, .fast = &fast});
  }
  return ratios;
}

Json report_json(const BenchReport& report) {
  Json json = {{"version", INDEXSHARE_VERSION}, {"results", Json::array()}};
  for (const BenchResult& r : report.results) json["results"].push_back(result_json(report, r));
  json["ratios"] = Json::array();
  for (const ScheduleRatio& ratio : schedule_ratios(report.results))
    json["ratios"].push_back(ratio_json(ratio));
  if (report.machine) json["machine"] = machine_json(*report.machine);
  return json;
}

std::string report_table(const BenchReport& report) {
  std::string text = header_line(report);
  const bool pattern = shows_pattern(report.results);
  text += fmt::format("{:<8}{:>9}{:>6}{:>4}", "phase", "depth", "batch", "thr");
  if (pattern) text += fmt::format(" {:>{}}", "pattern", kLongestPattern);
  text += fmt::format("{:>11}{:>11}{:>10}", "ms/token", "cpu ms", "tokens/s");
  for (int i = 0; i < kParts; ++i) text += fmt::format("{:>12}", part_name(static_cast<Part>(i)));
  text += fmt::format("{:>8}{:>9}{}\n", "GB/s", "GFLOP/s", report.machine ? "  of its bound" : "");
  for (const BenchResult& r : report.results) {
    text += fmt::format("{:<8}{:>9}{:>6}{:>4}", r.phase, r.depth, r.batch, r.threads);
    if (pattern) text += fmt::format(" {:>{}}", r.pattern, kLongestPattern);
    text += fmt::format("{:>11.3f}{:>11.3f}{:>10.1f}", r.median.wall, r.median.cpu, 1e3 / r.median.wall);
    for (int i = 0; i < kParts; ++i) text += fmt::format("{:>12.3f}", r.median.part(static_cast<Part>(i)));
    text += fmt::format("{:>8.2f}{:>9.1f}", r.gb_per_second(), r.gflops_per_second());
    if (const auto bound = bound_of(report, r)) {
      text += fmt::format("  {:>3.0f} % {}", 100 * share_of(*bound, r), bound_name(*bound));
    }
    text += "\n";
  }
  text += ratio_lines(report.results);
  text += fmt::format("Medians; parts in wall ms per token. Peak memory of the process: {}.\n",
                      bytes_text(report.results.back().peak_rss_bytes));
  if (report.machine) {
    text +=
        "Bound: reading each needed byte once, or the arithmetic, whatever takes longer at the limits "
        "below;\n"
        "its share of the CPU time.\n\n" +
        machine_table(*report.machine);
  }
  return text;
}

std::string report_svg(const BenchReport& report) {
  const std::vector<BenchResult>& results = report.results;
  const std::vector<PlotPanel> panels = {
      time_panel(results, "decode"),
      time_panel(results, "prefill"),
      ratio_panel(results, "decode"),
      ratio_panel(results, "prefill"),
  };
  return svg_plot(header_line(report), panels);
}

}  // namespace indexshare::cli
