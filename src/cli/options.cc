#include "cli/options.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <random>

#include "base/error.h"
#include "base/file.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/units.h"
#include "text/reasoning_effort.h"

namespace indexshare::cli {
namespace {

constexpr int64_t kMaxCount = std::numeric_limits<int32_t>::max();
constexpr int64_t kMaxContext = int64_t{1} << 30;
constexpr const char* kEngineGroup = "Engine";
constexpr float kMaxFloat = std::numeric_limits<float>::max();

// The whole text as a number; nothing where it is none or too large for T.
template <typename T>
std::optional<T> number_of(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string range_text(std::string_view kind, auto min, auto max, auto unbounded) {
  return max == unbounded ? fmt::format("a {} of at least {}", kind, min)
                          : fmt::format("a {} from {} to {}", kind, min, max);
}

std::pair<int32_t, float> parse_bias(std::string_view flag, std::string_view text) {
  const size_t equals = text.find('=');
  const auto id = number_of<int32_t>(text.substr(0, equals));
  const auto bias =
      equals == std::string_view::npos ? std::nullopt : number_of<float>(text.substr(equals + 1));
  if (!id || *id < 0 || !bias || !(std::abs(*bias) <= kMaxLogitBias)) {
    refuse_value(
        flag, text,
        fmt::format("ID=BIAS with a token id and a number from {} to {}", -kMaxLogitBias, kMaxLogitBias));
  }
  return {*id, *bias};
}

// A flag that may be given several times.
template <typename Use>
CLI::Option* add_repeated(CLI::App& command, const char* flag, const char* type, const char* help, Use use) {
  return command
      .add_option_function<std::vector<std::string>>(
          flag,
          [use](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) use(text);
          },
          help)
      ->allow_extra_args(false)
      ->type_name(type);
}

template <typename T>
CLI::Option* add_number(CLI::App& command, const char* flag, T& target, float min, float max,
                        const char* help) {
  return add_value(command, flag, target, "X", help, [min, max](const char* name, const std::string& text) {
    return parse_number(name, text, min, max);
  });
}

}  // namespace

int64_t parse_integer(std::string_view flag, std::string_view text, int64_t min, int64_t max) {
  const auto value = number_of<int64_t>(text);
  if (!value || *value < min || *value > max) {
    refuse_value(flag, text, range_text("whole number", min, max, std::numeric_limits<int64_t>::max()));
  }
  return *value;
}

float parse_number(std::string_view flag, std::string_view text, float min, float max) {
  const auto value = number_of<float>(text);
  if (!value || !(*value >= min && *value <= max)) {  // a NaN fails both
    refuse_value(flag, text, range_text("number", min, max, kMaxFloat));
  }
  return *value;
}

int64_t parse_size(std::string_view flag, std::string_view text) {
  constexpr std::string_view kUnits = "KMGT";
  constexpr double kLargest = 0x1p62;
  std::string_view digits = text;
  double unit = 1;
  if (!text.empty()) {
    if (const size_t power = kUnits.find(text.back()); power != std::string_view::npos) {
      unit = std::ldexp(1.0, 10 * static_cast<int>(power + 1));
      digits.remove_suffix(1);
    }
  }
  const auto value = number_of<double>(digits);
  if (!value || !(*value > 0 && *value * unit <= kLargest)) {
    refuse_value(flag, text, "a size such as 512M or 8G");
  }
  return static_cast<int64_t>(*value * unit);
}

std::vector<int32_t> parse_ids(std::string_view flag, std::string_view text) {
  std::vector<int32_t> ids;
  for (std::string_view rest = text; true;) {
    const size_t comma = rest.find(',');
    std::string_view item = rest.substr(0, comma);
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    const auto id = number_of<int32_t>(item);
    if (!id || *id < 0) refuse_value(flag, text, "token ids with commas between them, as in 1,2,3");
    ids.push_back(*id);
    if (comma == std::string_view::npos) return ids;
    rest.remove_prefix(comma + 1);
  }
}

FloatType parse_float_type(std::string_view flag, std::string_view text) {
  if (const auto type = find_float_type(text)) return *type;
  refuse_value(flag, text, "f32 or bf16");
}

DType parse_stored_type(std::string_view flag, std::string_view text) {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32, DType::fp8_e4m3}) {
    if (text == dtype_name(dtype)) return dtype;
  }
  refuse_value(flag, text, "bf16, f16, f32 or fp8");
}

void add_model(CLI::App& command, std::string& model) {
  command.add_option("MODEL", model, "directory of the model (config.json, *.safetensors, tokenizer.json)")
      ->required()
      ->type_name("");
}

void add_memory_flags(CLI::App& command, EngineOptions& options) {
  options.prefix = "--";
  add_integer(command, "--threads", options.threads, 1, 1024,
              "threads to compute with (default: one per processor)")
      ->group(kEngineGroup);
  add_value(command, "--compute", options.compute, "f32|bf16",
            "how activations are held (default: bf16 for bf16 and fp8 checkpoints, else f32)",
            parse_float_type)
      ->group(kEngineGroup);
  add_value(command, "--cache-dtype", options.cache_dtype, "f32|bf16",
            "how the cache is held (default: as --compute)", parse_float_type)
      ->group(kEngineGroup);
  add_value(command, "--index-keys", options.index_keys, "plain|int8|screened",
            "how the index keys are held: as the cache, in 8 bits (selects almost the same), or in both, to "
            "score fewer keys",
            [](std::string_view flag, std::string_view text) {
              if (const auto keys = find_index_keys(text)) return *keys;
              refuse_value(flag, text, "plain, int8 or screened");
            })
      ->group(kEngineGroup);
  add_value(
      command, "--context", options.context, "N",
      "tokens that prompt and answer may have together, as in 131072 or 128K (default: "
      "max_position_embeddings)",
      [](const char* flag, const std::string& text) { return parse_tokens(flag, text, 1, kMaxContext); })
      ->group(kEngineGroup);
  add_integer(command, "--chunk", options.chunk, int64_t{1}, int64_t{1} << 20,
              "prompt tokens in one pass (default: 512)")
      ->group(kEngineGroup);
  add_value(command, "--ram", options.ram_bytes, "SIZE",
            "memory to stay inside, as in 192G (default: what the machine has available)", parse_size)
      ->group(kEngineGroup);
}

void add_engine_flags(CLI::App& command, EngineOptions& options) {
  add_memory_flags(command, options);
  add_value(command, "--cache-memory", options.cache_bytes, "SIZE",
            "bound of the cache, as in 512M or 8G (default: what fits)", parse_size)
      ->group(kEngineGroup);
  add_integer(command, "--numa", options.numa_nodes, 1, 64,
              "memory nodes to share work and caches over (default: all that the machine has; 1: none)")
      ->group(kEngineGroup);
  add_number(command, "--latent-norm-eps", options.latent_norm_eps, 1e-12f, 0.5f,
             "epsilon of q_a_layernorm and kv_a_layernorm (default: 1e-6; some engines use 1e-5)")
      ->group(kEngineGroup);
}

namespace {

constexpr const char* kSamplingGroup = "Sampling (defaults: the model's generation_config.json)";
constexpr int64_t kMaxFormBytes = 1 << 20;

// A flag that binds the answer to a form: a regular expression, or what a file says.
void add_form(CLI::App& command, const char* flag, Constraint::Kind kind, const char* help,
              std::optional<Constraint>& constraint) {
  const bool in_file = kind != Constraint::Kind::regex;
  const auto read = [flag, kind, in_file, &constraint](const std::string& value) {
    if (constraint) refuse_usage("expected one of --json-schema, --regex and --grammar");
    constraint = Constraint{.kind = kind, .text = value, .choices = {}};
    if (!in_file) return;
    Result<std::string> text = read_file(value, kMaxFormBytes);
    if (!text.ok()) refuse_usage(fmt::format("{}: {}", flag, text.error().message));
    constraint->text = std::move(*text);
  };
  command.add_option_function<std::string>(flag, read, help)
      ->type_name(in_file ? "FILE" : "REGEX")
      ->group(kSamplingGroup);
}

}  // namespace

void add_sampling_flags(CLI::App& command, SamplingFlags& flags) {
  constexpr float kAboveZero = std::numeric_limits<float>::min();
  const auto integer = [&](const char* flag, auto& target, auto min, auto max, const char* help) {
    add_integer(command, flag, target, min, max, help)->group(kSamplingGroup);
  };
  const auto number = [&](const char* flag, auto& target, float min, float max, const char* help) {
    add_number(command, flag, target, min, max, help)->group(kSamplingGroup);
  };
  number("--temperature", flags.temperature, 0, kMaxFloat, "0: always the most probable token");
  integer("--top-k", flags.top_k, 0, static_cast<int32_t>(kMaxCount),
          "keep the N most probable tokens; 0: all");
  number("--top-p", flags.top_p, 0, 1, "keep the fewest tokens that hold this share");
  number("--min-p", flags.min_p, 0, 1, "keep tokens this probable, in shares of the most probable one");
  number("--repetition-penalty", flags.repetition_penalty, kAboveZero, kMaxFloat,
         "above 1: less of what prompt and answer hold already");
  number("--frequency-penalty", flags.frequency_penalty, -kMaxPenalty, kMaxPenalty,
         "taken off a token's logit each time the answer had it");
  number("--presence-penalty", flags.presence_penalty, -kMaxPenalty, kMaxPenalty,
         "taken off a token's logit once the answer had it");
  add_repeated(
      command, "--logit-bias", "ID=X", "added to a token's logit (repeatable)",
      [&flags](const std::string& text) { flags.logit_bias.push_back(parse_bias("--logit-bias", text)); })
      ->group(kSamplingGroup);
  add_value(command, "--seed", flags.seed, "N", "of the random choices (default: another one each time)",
            [](const char* flag, const std::string& text) {
              const auto seed = number_of<uint64_t>(text);
              if (!seed) refuse_value(flag, text, "a whole number from 0 to 18446744073709551615");
              return *seed;
            })
      ->group(kSamplingGroup);
  integer("--max-tokens", flags.max_tokens, int64_t{1}, kMaxCount, "longest answer");
  integer("--max-reasoning-tokens", flags.max_reasoning_tokens, int64_t{0}, kMaxCount,
          "longest reasoning: then it is closed");
  integer("--min-tokens", flags.min_tokens, 0, static_cast<int32_t>(kMaxCount), "shortest answer");
  using Kind = Constraint::Kind;
  add_form(command, "--json-schema", Kind::json_schema, "the answer is JSON by this schema",
           flags.constraint);
  add_form(command, "--regex", Kind::regex, "the whole answer matches it", flags.constraint);
  add_form(command, "--grammar", Kind::grammar, "the answer is of this EBNF grammar", flags.constraint);
  add_repeated(command, "--stop", "TEXT", "end before this text (repeatable)",
               [&flags](const std::string& text) {
                 if (text.empty()) refuse_value("--stop", text, "a text that is not empty");
                 flags.stop.push_back(text);
               })
      ->group(kSamplingGroup);
  add_repeated(
      command, "--stop-id", "ID", "end after this token (repeatable)",
      [&flags](const std::string& text) {
        flags.stop_ids.push_back(static_cast<int32_t>(parse_integer("--stop-id", text, 0, kMaxCount)));
      })
      ->group(kSamplingGroup);
  command.add_flag("--ignore-eos", flags.ignore_eos, "go on where the model would end")
      ->group(kSamplingGroup);
}

Result<GenerationRequest> make_request(const SamplingFlags& flags, const Engine& engine) {
  GenerationRequest request = engine.default_request();
  SamplingParams& sampling = request.sampling;
  sampling.temperature = flags.temperature.value_or(sampling.temperature);
  sampling.top_k = flags.top_k.value_or(sampling.top_k);
  sampling.top_p = flags.top_p.value_or(sampling.top_p);
  sampling.min_p = flags.min_p.value_or(sampling.min_p);
  sampling.repetition_penalty = flags.repetition_penalty.value_or(sampling.repetition_penalty);
  sampling.frequency_penalty = flags.frequency_penalty;
  sampling.presence_penalty = flags.presence_penalty;
  sampling.logit_bias = flags.logit_bias;
  sampling.seed = flags.seed ? *flags.seed : std::random_device{}();
  sampling.min_tokens = flags.min_tokens;
  sampling.logprobs = flags.logprobs;
  if (flags.max_tokens) request.max_tokens = flags.max_tokens;
  request.max_reasoning_tokens = flags.max_reasoning_tokens;
  if (flags.constraint) {
    ASSIGN_OR_RETURN(request.grammar, engine.compile(*flags.constraint));
  }
  request.stop = flags.stop;
  request.stop_ids = flags.stop_ids;
  request.ignore_eos = flags.ignore_eos;
  return request;
}

void add_chat_flags(CLI::App& command, ChatFlags& flags) {
  constexpr const char* kGroup = "Chat";
  command.add_option("--system", flags.system, "system message")->type_name("TEXT")->group(kGroup);
  CLI::Option* on = command.add_flag_callback(
      "--thinking", [&flags] { flags.enable_thinking = true; }, "let the model reason before it answers");
  CLI::Option* off = command.add_flag_callback(
      "--no-thinking", [&flags] { flags.enable_thinking = false; }, "answer at once");
  CLI::Option* effort = command.add_option_function<std::string>(
      "--reasoning-effort",
      [&flags](const std::string& text) {
        const auto level = effort_for_template(text);
        if (!level)
          refuse_value("--reasoning-effort", text, "max, xhigh, high, medium, low, minimal or none");
        flags.enable_thinking = !level->empty();
        flags.reasoning_effort = level->empty() ? std::nullopt : std::optional<std::string>(*level);
      },
      "max or xhigh; high, medium or low; minimal or none (no reasoning)");
  on->excludes(off)->group(kGroup);
  off->excludes(effort)->group(kGroup);
  effort->type_name("LEVEL")->group(kGroup);
}

Result<std::unique_ptr<ModelRunner>> load_runner(const std::string& model, const EngineOptions& options) {
  std::unique_ptr<ModelRunner> runner;
  {
    const WaitingLine waiting(fmt::format("loading {}", model));
    ASSIGN_OR_RETURN(runner, ModelRunner::load(model, options));
  }
  const int64_t context = runner->options().context;
  if (options.context == 0 && context < runner->config().max_position_embeddings) {
    print_error(fmt::format("indexshare: note: memory bounds the context to {} of {} tokens\n", context,
                            runner->config().max_position_embeddings));
  }
  if (runner->memory_plan().weights.total() > runner->memory_bytes()) {
    print_error(
        fmt::format("indexshare: note: the weights take {}, more than the {} of memory: experts are read "
                    "from disk again and again, which is slow\n",
                    bytes_text(runner->memory_plan().weights.total()), bytes_text(runner->memory_bytes())));
  }
  return runner;
}

Result<Engine> load_engine(const std::string& model, const EngineOptions& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<ModelRunner> runner, load_runner(model, options));
  return Engine(std::move(runner));
}

}  // namespace indexshare::cli
