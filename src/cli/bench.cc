// indexshare bench: the speed of a checkpoint, or of random weights in a given geometry, at given depths.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "cli/bench_run.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/units.h"
#include "model/random_weights.h"

namespace indexshare::cli {
namespace {

constexpr int64_t kMaxTokens = int64_t{1} << 30;

// The shape of GLM-5.2 (its config.json without what a benchmark does not need).
constexpr std::string_view kGlm52 = R"({
  "model_type": "glm_moe_dsa", "dtype": "bfloat16", "vocab_size": 154880, "hidden_size": 6144,
  "intermediate_size": 12288, "moe_intermediate_size": 2048, "num_hidden_layers": 78, "num_attention_heads": 64,
  "q_lora_rank": 2048, "kv_lora_rank": 512, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "v_head_dim": 256,
  "index_n_heads": 32, "index_head_dim": 128, "index_topk": 2048, "index_topk_freq": 4, "index_skip_topk_offset": 3,
  "n_routed_experts": 256, "num_experts_per_tok": 8, "n_shared_experts": 1, "first_k_dense_replace": 3,
  "routed_scaling_factor": 2.5, "max_position_embeddings": 1048576, "num_nextn_predict_layers": 0,
  "rope_parameters": {"rope_theta": 8000000, "rope_type": "default"}, "eos_token_id": [154820]})";

struct Options {
  std::string model, geometry;
  int64_t layers = 0, experts = 0, experts_per_token = 0, vocab = 0;  // 0: as the geometry has it
  std::string pattern;
  DType dtype = DType::bf16;
  EngineOptions engine;
  BenchPlan plan;
  bool json = false;
};

DType parse_weight_type(std::string_view flag, std::string_view text) {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32, DType::fp8_e4m3}) {
    if (text == dtype_name(dtype)) return dtype;
  }
  refuse_usage(fmt::format("{} is \"{}\", expected bf16, f16, f32 or fp8", flag, text));
}

std::vector<int64_t> parse_list(std::string_view flag, std::string_view text, int64_t min) {
  std::vector<int64_t> values;
  while (true) {
    const size_t comma = text.find(',');
    values.push_back(parse_tokens(flag, text.substr(0, comma), min, kMaxTokens));
    if (comma == std::string_view::npos) return values;
    text.remove_prefix(comma + 1);
  }
}

std::string parse_pattern(std::string_view flag, std::string_view text) {
  if (text.empty() || text.find_first_not_of("FS") != std::string_view::npos || text[0] != 'F') {
    refuse_usage(fmt::format("{} is \"{}\", expected F (full) and S (shared), beginning with F: \"FSSS\"",
                             flag, text));
  }
  return std::string(text);
}

// The geometry with what the flags change. Where layers are cut, all have experts and the pattern repeats.
Result<Config> make_config(const Options& options) {
  SortedJson json;
  if (options.geometry == "glm-5.2") {
    ASSIGN_OR_RETURN(json, parse_sorted_json(kGlm52, "glm-5.2"));
  }
  ASSIGN_OR_RETURN(Config config,
                   json.is_null() ? load_config(options.geometry) : parse_config(json, "glm-5.2"));
  if (options.vocab > 0) config.vocab_size = options.vocab;
  if (options.experts > 0) config.n_routed_experts = options.experts;
  config.num_experts_per_tok =
      options.experts_per_token > 0
          ? options.experts_per_token
          : std::min(config.num_experts_per_tok, std::max<int64_t>(1, config.n_routed_experts / 4));
  if (config.num_experts_per_tok > config.n_routed_experts) {
    return make_error("--experts-per-token is {}, but there are {} experts", config.num_experts_per_tok,
                      config.n_routed_experts);
  }
  config.num_nextn_predict_layers = 0;
  const std::string pattern = !options.pattern.empty() ? options.pattern : options.layers > 0 ? "FSSS" : "";
  if (options.layers > 0) {
    config.num_hidden_layers = options.layers;
    config.mlp_sparse.assign(static_cast<size_t>(options.layers), true);
  }
  const auto layers = static_cast<size_t>(config.num_hidden_layers);
  if (!pattern.empty()) {
    config.indexer_full.resize(layers);
    for (size_t i = 0; i < layers; ++i) config.indexer_full[i] = pattern[i % pattern.size()] == 'F';
  }
  return config;
}

Result<std::unique_ptr<Engine>> make_engine(const Options& options) {
  if (!options.model.empty()) return load_engine(options.model, options.engine);
  ASSIGN_OR_RETURN(Config config, make_config(options));
  WaitingLine waiting("making random weights");
  ASSIGN_OR_RETURN(Weights weights, random_weights(config, options.dtype, 1));
  return Engine::create(std::move(config), std::move(weights), options.engine);
}

Json result_json(const BenchResult& r) {
  Json parts;
  for (int i = 0; i < kParts; ++i) {
    const auto part = static_cast<Part>(i);
    parts[std::string(part_name(part))] = r.part_ms(part);
  }
  return {{"phase", r.phase},
          {"depth", r.depth},
          {"batch", r.batch},
          {"threads", r.threads},
          {"pattern", r.pattern},
          {"dtype", r.dtype},
          {"isa", r.isa},
          {"ms_per_token", r.ms_per_token},
          {"cpu_ms_per_token", r.cpu_ms_per_token},
          {"parts_ms", parts},
          {"flops_per_token", r.profile.total_flops() / r.tokens},
          {"gflops_per_second", r.gflops_per_second()},
          {"weight_bytes_per_step", r.weight_bytes},
          {"peak_rss_bytes", r.peak_rss_bytes}};
}

std::string table(const std::vector<BenchResult>& results) {
  std::string text = fmt::format("{:<8}{:>9}{:>6}{:>8}{:>11}{:>11}{:>10}", "phase", "depth", "batch",
                                 "threads", "ms/token", "cpu ms", "tokens/s");
  for (int i = 0; i < kParts; ++i) text += fmt::format("{:>12}", part_name(static_cast<Part>(i)));
  text += fmt::format("{:>10}\n", "GFLOP/s");
  for (const BenchResult& r : results) {
    text += fmt::format("{:<8}{:>9}{:>6}{:>8}{:>11.3f}{:>11.3f}{:>10.1f}", r.phase, r.depth, r.batch,
                        r.threads, r.ms_per_token, r.cpu_ms_per_token, 1e3 / r.ms_per_token);
    for (int i = 0; i < kParts; ++i) text += fmt::format("{:>12.3f}", r.part_ms(static_cast<Part>(i)));
    text += fmt::format("{:>10.1f}\n", r.gflops_per_second());
  }
  return text;
}

Result<ExitCode> bench(const Options& options) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, make_engine(options));
  int64_t measured = 0;
  ProgressLine progress("measuring", "steps");
  auto watch = [&](const std::string&) { progress.update(measured++, 0); };
  ASSIGN_OR_RETURN(const std::vector<BenchResult> results, run_bench(*engine, options.plan, watch));
  progress.clear();
  if (options.json) {
    Json json = {{"version", INDEXSHARE_VERSION}, {"results", Json::array()}};
    for (const BenchResult& result : results) json["results"].push_back(result_json(result));
    return print(dump_json(json, 2) + "\n");
  }
  const BenchResult& any = results.front();
  const std::string header =
      fmt::format("{} weights, schedule {}, {} compute, {} cache, {} kernels, {} of weights read per token\n",
                  any.dtype, any.pattern, engine->options().compute == ComputeType::bf16 ? "bf16" : "f32",
                  dtype_name(*engine->options().cache_dtype), any.isa, bytes_text(any.weight_bytes));
  return print(header + table(results) +
               fmt::format("Parts in wall ms per token. Peak memory of the process: {}.\n",
                           bytes_text(results.back().peak_rss_bytes)));
}

}  // namespace

Action add_bench(CLI::App& command) {
  auto options = std::make_shared<Options>();
  command.add_option("MODEL", options->model, "model directory; or random weights with --geometry");
  command
      .add_option("--geometry", options->geometry,
                  "random weights in the shape of glm-5.2 or of a config.json")
      ->type_name("NAME|FILE");
  add_integer<int64_t>(command, "--layers", options->layers, 1, 512, "layers, all with experts");
  add_integer<int64_t>(command, "--experts", options->experts, 1, 1024, "routed experts");
  add_integer<int64_t>(command, "--experts-per-token", options->experts_per_token, 1, 1024,
                       "experts of one token; by default at most a quarter of the experts");
  add_integer<int64_t>(command, "--vocab", options->vocab, 2, 1 << 20, "tokens of the vocabulary");
  add_value(command, "--pattern", options->pattern, "FS...",
            "full and shared layers, repeated; FSSS with --layers", parse_pattern);
  add_value(command, "--dtype", options->dtype, "TYPE", "of random weights: bf16, f16, f32 or fp8",
            parse_weight_type);
  add_value(command, "--depth", options->plan.depths, "N,...", "tokens in the cache before: 0,64K,1M",
            [](std::string_view flag, std::string_view text) { return parse_list(flag, text, 0); });
  add_value(command, "--batch", options->plan.batches, "N,...", "sequences decoded together",
            [](std::string_view flag, std::string_view text) { return parse_list(flag, text, 1); });
  add_integer<int64_t>(command, "--decode", options->plan.decode_steps, 0, 1 << 20, "decode steps; 0: none");
  add_integer<int64_t>(command, "--prefill", options->plan.prefill_tokens, 0, 1 << 20,
                       "prompt tokens; 0: none");
  add_integer<int64_t>(command, "--repeat", options->plan.repeats, 1, 1000, "times that prefill is measured");
  command.add_flag("--json", options->json, "results for programs");
  add_engine_flags(command, options->engine);
  command.parse_complete_callback([options] {
    if (options->model.empty() == options->geometry.empty()) {
      refuse_usage("name either a model directory or a --geometry");
    }
    if (options->plan.decode_steps == 0 && options->plan.prefill_tokens == 0) {
      refuse_usage("--decode and --prefill are both 0: there is nothing to measure");
    }
  });
  return [options] { return bench(*options); };
}

}  // namespace indexshare::cli
