// indexshare plan: how much memory a model takes at a given context and batch, what fits and what to change.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "checkpoint/bind_weights.h"
#include "checkpoint/checkpoint.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/units.h"
#include "cpu/kernels.h"
#include "engine/memory_plan.h"
#include "model/weight_shapes.h"

namespace indexshare::cli {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxBatch = 1 << 20;
constexpr int64_t kMaxCacheBytes = int64_t{1} << 60;
constexpr int64_t kSmallChunk = 64;

struct Options {
  std::string model;
  EngineOptions engine;
  std::optional<DType> dtype;
  int64_t batch = 1;
  bool json = false;
};

// What is planned for, with all defaults in place.
struct Case {
  Config config;
  Weights weights;
  std::string dtype;    // of the weights, as people call it
  bool stored = false;  // whether they are those of a checkpoint
  const cpu::Kernels* kernels = nullptr;
  EngineOptions engine;
  MemoryLoad load;

  MemoryPlan plan() const { return plan_memory(config, weights, *kernels, engine, load); }
};

// A change that may make it fit, as flags, and what is taken then.
struct Change {
  std::string flags;
  int64_t total = 0;
};

Result<Case> collect(const Options& options) {
  const fs::path model = options.model;
  Case c;
  ASSIGN_OR_RETURN(c.config, load_config(model));
  ASSIGN_OR_RETURN(c.kernels, cpu::choose_kernels());
  std::error_code ignored;
  c.stored = !options.dtype && (fs::exists(model / "model.safetensors", ignored) ||
                                fs::exists(model / "model.safetensors.index.json", ignored));
  if (c.stored) {
    ASSIGN_OR_RETURN(const std::shared_ptr<const Checkpoint> checkpoint, Checkpoint::open(model));
    ASSIGN_OR_RETURN(c.weights, bind_weights(c.config, checkpoint));
    c.dtype = "as stored";
  } else {
    const DType dtype = options.dtype.value_or(c.config.stored_fp8 ? DType::fp8_e4m3 : c.config.dtype);
    c.weights = weight_shapes(c.config, dtype);
    c.dtype = fmt::format("in {}", dtype_name(dtype));
  }
  ASSIGN_OR_RETURN(c.engine, resolve_options(options.engine, c.config, c.weights));
  c.load = {.context = c.engine.context, .batch = 1};
  if (const auto size = fs::file_size(model / "tokenizer.json", ignored); !ignored) {
    c.load.tokenizer_bytes = static_cast<int64_t>(size);
  }
  if (c.plan().cache() > kMaxCacheBytes / options.batch) {
    return make_error(
        "--batch is {}, and the caches of so many sequences of {} tokens take more than can be counted",
        options.batch, c.load.context);
  }
  c.load.batch = options.batch;
  return c;
}

// The largest n of [1, most] with total(n) <= limit, for a total that grows with n; 0 where there is none.
template <typename Total>
int64_t largest(int64_t most, int64_t limit, Total total) {
  int64_t fits = 0;
  for (int64_t beyond = most + 1; beyond - fits > 1;) {
    const int64_t middle = fits + (beyond - fits) / 2;
    (total(middle) <= limit ? fits : beyond) = middle;
  }
  return fits;
}

int64_t largest_context(Case c, int64_t ram) {
  c.load.context = kPageTokens;
  const int64_t beyond = ram / c.plan().cache() * kPageTokens;  // more pages than fit are not worth a try
  return largest(std::min(c.config.max_position_embeddings, beyond), ram, [&](int64_t context) {
    c.load.context = context;
    return c.plan().total();
  });
}

int64_t largest_batch(Case c, int64_t ram) {
  c.load.batch = 1;
  const int64_t one = c.plan().cache();  // of one sequence; beyond ram / one there is nothing to try
  return largest(std::min(kMaxBatch, ram / one), ram, [&](int64_t batch) {
    c.load.batch = batch;
    return c.plan().total();
  });
}

// Where it does not fit: changes that take clearly less or make it fit, each on its own.
std::vector<Change> changes(const Case& base, int64_t ram) {
  std::vector<Change> found;
  const int64_t now = base.plan().total();
  if (now <= ram) return found;
  const auto offer = [&](std::string flags, auto change) {
    Case c = base;
    change(c);
    const int64_t total = c.plan().total();
    if (total < now - now / 100 || total <= ram) found.push_back({std::move(flags), total});
  };
  if (const int64_t context = largest_context(base, ram); context > 0) {
    offer(fmt::format("--context {}", context), [&](Case& c) { c.load.context = context; });
  }
  if (const int64_t batch = largest_batch(base, ram); batch > 0) {
    offer(fmt::format("--batch {}", batch), [&](Case& c) { c.load.batch = batch; });
  } else {
    offer("--batch 1", [](Case& c) { c.load.batch = 1; });
  }
  offer("--cache-dtype bf16", [](Case& c) { c.engine.cache_dtype = FloatType::bf16; });
  offer(fmt::format("--chunk {}", kSmallChunk),
        [](Case& c) { c.engine.chunk = std::min(c.engine.chunk, kSmallChunk); });
  offer("--dtype fp8", [](Case& c) { c.weights = weight_shapes(c.config, DType::fp8_e4m3); });
  return found;
}

struct Part {
  const char* key;
  const char* name;
  int64_t bytes;
};

std::vector<Part> weight_parts(const WeightBytes& w) {
  return {{"embed_tokens", "embedding", w.embed_tokens},
          {"attention", "attention", w.attention},
          {"indexer", "indexers", w.indexer},
          {"dense_mlp", "dense MLPs", w.dense_mlp},
          {"router", "routers", w.router},
          {"routed_experts", "routed experts", w.routed_experts},
          {"shared_experts", "shared experts", w.shared_experts},
          {"norms", "norms", w.norms},
          {"lm_head", "head", w.lm_head}};
}

std::vector<Part> workspace_parts(const MemoryPlan& plan) {
  return {{"activations", "activations", plan.activations},
          {"backend", "backend", plan.backend},
          {"logits", "logits", plan.logits}};
}

void add_parts(std::string& text, const char* name, int64_t bytes, const std::vector<Part>& parts) {
  text += fmt::format("{:<18}{:>12}\n", name, bytes_text(bytes));
  for (const Part& part : parts) {
    if (part.bytes > 0) text += fmt::format("  {:<16}{:>12}\n", part.name, bytes_text(part.bytes));
  }
}

std::string verdict(const Case& c, const MemoryPlan& plan, int64_t ram) {
  const int64_t total = plan.total();
  if (total <= ram) {
    return fmt::format(
        "Fits, with {} to spare. Largest context of {}: {} tokens; most sequences of {} tokens: {}.\n",
        bytes_text(ram - total),
        c.load.batch == 1 ? "one sequence" : fmt::format("{} sequences", c.load.batch),
        largest_context(c, ram), c.load.context, largest_batch(c, ram));
  }
  std::string text = fmt::format("Does not fit: {} too much.", bytes_text(total - ram));
  if (plan.without_experts() <= ram) {
    text += fmt::format(" All but the routed experts takes {}: it runs, but reads experts from disk, slowly.",
                        bytes_text(plan.without_experts()));
  }
  text += "\nWhat takes less, each on its own:\n";
  for (const Change& change : changes(c, ram)) {
    text += fmt::format("  {:<24}{:>12}  {}\n", change.flags, bytes_text(change.total),
                        change.total <= ram ? "fits" : "does not fit");
  }
  return text;
}

std::string report(const std::string& model, const Case& c, int64_t ram) {
  const MemoryPlan plan = c.plan();
  std::string text = fmt::format(
      "{}: weights {}, {} sequence{} of {} tokens, cache in {}, compute in {}, chunks of {}, {} thread{}\n\n",
      model, c.dtype, c.load.batch, c.load.batch == 1 ? "" : "s", c.load.context,
      float_type_name(*c.engine.cache_dtype), float_type_name(*c.engine.compute), c.engine.chunk,
      c.engine.threads, c.engine.threads == 1 ? "" : "s");
  add_parts(text, "weights", plan.weights.total(), weight_parts(plan.weights));
  add_parts(text, "caches", plan.cache(),
            {{"", "latent rows", plan.latent_cache}, {"", "index keys", plan.index_cache}});
  add_parts(text, "workspace", plan.workspace(), workspace_parts(plan));
  add_parts(text, c.load.tokenizer_bytes > 0 ? "program, tokenizer" : "program", plan.process, {});
  add_parts(text, "in all", plan.total(), {});
  add_parts(text, c.engine.ram_bytes > 0 ? "of --ram" : "of available", ram, {});
  text += "\n" + verdict(c, plan, ram);
  if (plan.weights.mtp > 0) {
    text +=
        fmt::format("The MTP layer ({}) is not used and takes no memory.\n", bytes_text(plan.weights.mtp));
  }
  return text;
}

Json parts_json(const std::vector<Part>& parts) {
  Json json;
  for (const Part& part : parts) json[part.key] = part.bytes;
  return json;
}

Json report_json(const std::string& model, const Case& c, int64_t ram) {
  const MemoryPlan plan = c.plan();
  Json json = {{"model", model},
               {"context", c.load.context},
               {"batch", c.load.batch},
               {"threads", c.engine.threads},
               {"chunk", c.engine.chunk},
               {"compute", float_type_name(*c.engine.compute)},
               {"cache_dtype", float_type_name(*c.engine.cache_dtype)},
               {"weights_bytes", plan.weights.total()},
               {"weights", parts_json(weight_parts(plan.weights))},
               {"mtp_bytes", plan.weights.mtp},
               {"latent_cache_bytes", plan.latent_cache},
               {"index_cache_bytes", plan.index_cache},
               {"workspace_bytes", plan.workspace()},
               {"workspace", parts_json(workspace_parts(plan))},
               {"process_bytes", plan.process},
               {"total_bytes", plan.total()},
               {"total_without_experts_bytes", plan.without_experts()},
               {"ram_bytes", ram},
               {"fits", plan.total() <= ram},
               {"fits_without_experts", plan.without_experts() <= ram},
               {"largest_context", largest_context(c, ram)},
               {"largest_batch", largest_batch(c, ram)}};
  json["changes"] = Json::array();
  for (const Change& change : changes(c, ram)) {
    json["changes"].push_back(
        {{"flags", change.flags}, {"total_bytes", change.total}, {"fits", change.total <= ram}});
  }
  return json;
}

Result<ExitCode> run(const Options& options) {
  ASSIGN_OR_RETURN(const Case c, collect(options));
  const int64_t ram = memory_limit(c.engine);
  return print(options.json ? dump_json(report_json(options.model, c, ram), 2) + "\n"
                            : report(options.model, c, ram));
}

}  // namespace

Action add_plan(CLI::App& command) {
  auto options = std::make_shared<Options>();
  command.add_option("MODEL_OR_CONFIG", options->model, "directory of a model, or a config.json")
      ->required()
      ->type_name("");
  add_integer<int64_t>(command, "--batch", options->batch, 1, kMaxBatch, "sequences at once (default: 1)");
  add_value(command, "--dtype", options->dtype, "bf16|f16|f32|fp8",
            "how the weights are stored (default: as they are; of a lone config.json, as it says)",
            parse_stored_type);
  command.add_flag("--json", options->json, "print one JSON object");
  add_memory_flags(command, options->engine);
  return [options] { return run(*options); };
}

}  // namespace indexshare::cli
