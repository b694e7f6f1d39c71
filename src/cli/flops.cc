// indexshare flops: the arithmetic of one token by part, from a configuration alone.
#include "model/flops.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/units.h"

namespace indexshare::cli {
namespace {

constexpr int64_t kKibi = 1 << 10, kMebi = 1 << 20;
constexpr int64_t kMaxContext = int64_t{1} << 30;
constexpr std::array kShownParts = {Part::index, Part::attention, Part::projections, Part::experts,
                                    Part::head};

struct Options {
  std::string model;
  std::vector<int64_t> contexts = {32 * kKibi, 64 * kKibi, 128 * kKibi, 256 * kKibi, 512 * kKibi, kMebi};
  bool json = false;
};

// Which layers build an index.
struct Schedule {
  const char* key;
  const char* name;
  double full_layers;
};

std::array<Schedule, 3> schedules(const Config& config) {
  const auto layers = static_cast<double>(config.num_hidden_layers);
  return {{{"all_full", "all", layers},
           {"model", "this model", static_cast<double>(config.full_layers())},
           {"one_in_four", "one in four", layers / 4}}};
}

struct Convention {
  AttentionForm form;
  const char* key;
  const char* text;
};
constexpr std::array kConventions = {
    Convention{AttentionForm::expanded, "expanded",
               "Attention with expanded heads, the convention of the published figures"},
    Convention{AttentionForm::latent, "latent",
               "Attention in the latent space (queries absorbed), as this engine computes it"}};

// 1,048,576
std::string grouped(int64_t number) {
  std::string text = fmt::format("{}", number);
  for (auto place = std::ssize(text) - 3; place > 0; place -= 3) {
    text.insert(static_cast<size_t>(place), ",");
  }
  return text;
}

double ratio(const FlopCount& all_full, const FlopCount& count) {
  return static_cast<double>(all_full.total()) / static_cast<double>(count.total());
}

Json count_json(const FlopCount& count) {
  Json json;
  for (const Part part : kShownParts) json[std::string(part_name(part))] = count[part];
  json["total"] = count.total();
  return json;
}

Json context_json(const Config& config, int64_t context) {
  Json json = {{"context", context}};
  for (const Convention& convention : kConventions) {
    Json& by_schedule = json[convention.key];
    const auto rows = schedules(config);
    const FlopCount all = flops_per_token(config, rows.front().full_layers, context, convention.form);
    for (const Schedule& schedule : rows) {
      const FlopCount count = flops_per_token(config, schedule.full_layers, context, convention.form);
      Json entry = count_json(count);
      entry["full_layers"] = schedule.full_layers;
      entry["all_full_ratio"] = ratio(all, count);
      by_schedule[schedule.key] = std::move(entry);
    }
  }
  const auto position = static_cast<int32_t>(context - 1);
  json["engine"] = count_json(batch_flops(config, std::span(&position, 1), 1));
  return json;
}

Result<ExitCode> print_json(const Options& options, const Config& config) {
  Json json = {{"model", options.model},
               {"layers", config.num_hidden_layers},
               {"full_layers", config.full_layers()},
               {"schedule", config.schedule()},
               {"index_topk", config.index_topk}};
  json["contexts"] = Json::array();
  for (const int64_t context : options.contexts) json["contexts"].push_back(context_json(config, context));
  return print(dump_json(json, 2) + "\n");
}

struct Unit {
  const char* name;
  double flops;
};

// The largest unit in which no total is below 1.
Unit unit_for(const Config& config, std::span<const int64_t> contexts) {
  const int64_t shortest = *std::min_element(contexts.begin(), contexts.end());
  const FlopCount least = flops_per_token(config, 0, shortest, AttentionForm::expanded);
  constexpr std::array kUnits = {Unit{"TFLOP", 1e12}, Unit{"GFLOP", 1e9}, Unit{"MFLOP", 1e6}};
  for (const Unit& unit : kUnits) {
    if (static_cast<double>(least.total()) >= unit.flops) return unit;
  }
  return {"FLOP", 1};
}

std::string table(const Config& config, std::span<const int64_t> contexts, const Convention& convention,
                  const Unit& unit) {
  const AttentionWidths widths = attention_widths(config, convention.form);
  std::string text = fmt::format("{}:\n{} + {} multiply-adds per head and token attended to. {} per token:\n",
                                 convention.text, widths.key, widths.value, unit.name);
  text += fmt::format("{:>13}  {:<18}", "context", "full layers");
  for (const Part part : kShownParts) text += fmt::format("{:>12}", part_name(part));
  text += fmt::format("{:>12}{:>8}\n", "total", "ratio");
  for (const int64_t context : contexts) {
    const auto rows = schedules(config);
    const FlopCount all = flops_per_token(config, rows.front().full_layers, context, convention.form);
    for (const Schedule& schedule : rows) {
      const FlopCount count = flops_per_token(config, schedule.full_layers, context, convention.form);
      text += fmt::format("{:>13}  {:>5} {:<12}", &schedule == &rows.front() ? grouped(context) : "",
                          schedule.full_layers, schedule.name);
      for (const Part part : kShownParts) {
        text += fmt::format("{:>12.3f}", static_cast<double>(count[part]) / unit.flops);
      }
      text += fmt::format("{:>12.3f}{:>7.2f}x\n", static_cast<double>(count.total()) / unit.flops,
                          ratio(all, count));
    }
  }
  return text;
}

Result<ExitCode> run(const Options& options) {
  ASSIGN_OR_RETURN(const Config config, load_config(options.model));
  if (options.json) return print_json(options, config);
  std::string text =
      fmt::format("{}: {} layers, {} of them full, index_topk {}\n{}\n", options.model,
                  config.num_hidden_layers, config.full_layers(), config.index_topk, config.schedule());
  const Unit unit = unit_for(config, options.contexts);
  for (const Convention& convention : kConventions) {
    text += "\n" + table(config, options.contexts, convention, unit);
  }
  text += fmt::format(
      "\nFor a token at the end of its context, 2 FLOPs per multiply-add; experts: every MLP and router.\n"
      "Ratio: the total with all layers full, over this one.\n"
      "The formula scores every context; this engine does not score those of up to index_topk = {}.\n",
      config.index_topk);
  return print(text);
}

}  // namespace

Action add_flops(CLI::App& command) {
  auto options = std::make_shared<Options>();
  command.add_option("MODEL_OR_CONFIG", options->model, "directory of a model, or a config.json")
      ->required()
      ->type_name("");
  command
      .add_option_function<std::vector<std::string>>(
          "--context",
          [options](const std::vector<std::string>& texts) {
            options->contexts.clear();
            for (const std::string& text : texts) {
              options->contexts.push_back(parse_tokens("--context", text, 1, kMaxContext));
            }
          },
          "contexts in tokens, as in 131072, 128K or 1M (default: 32K 64K 128K 256K 512K 1M)")
      ->type_name("N");
  command.add_flag("--json", options->json, "print one JSON object");
  return [options] { return run(*options); };
}

}  // namespace indexshare::cli
