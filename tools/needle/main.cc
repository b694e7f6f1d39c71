// Finds needles in a haystack of up to a million tokens, with a model made for it (needle/model.h).
#include <sys/resource.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/error.h"
#include "needle/haystack.h"
#include "needle/model.h"

namespace indexshare::needle {
namespace {

constexpr const char* kUsage =
    "usage: needle DIRECTORY [TOKENS [THREADS [CHUNK]]]\n"
    "Writes the model to DIRECTORY. With TOKENS, reads a haystack of so many tokens with it, then asks for\n"
    "what stands at 0, 25, 50, 75 and 100 % of it. Exit codes: 0 all found, 1 some lost, 2 wrong usage.\n";

// The last tokens of the haystack are read, then make room for a question and its answer.
constexpr int64_t kQuestionRoom = kRecordTokens + 1;
constexpr int64_t kMinTokens = 10 * kRecordTokens;

struct Options {
  std::string directory;
  int64_t tokens = 0;  // 0: only write the model
  EngineOptions engine;
};

Result<int64_t> parse_count(std::string_view text, std::string_view name, int64_t min, int64_t max) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < min || value > max) {
    return make_error("{} is \"{}\", expected a whole number from {} to {}", name, text, min, max);
  }
  return value;
}

Result<Options> parse_options(int argc, char** argv) {
  Options options{.directory = argv[1], .tokens = 0, .engine = {}};
  if (argc > 2) {
    ASSIGN_OR_RETURN(options.tokens, parse_count(argv[2], "TOKENS", kMinTokens, kPositions));
  }
  if (argc > 3) {
    ASSIGN_OR_RETURN(const int64_t threads, parse_count(argv[3], "THREADS", 1, 1024));
    options.engine.threads = static_cast<int>(threads);
  }
  if (argc > 4) {
    ASSIGN_OR_RETURN(options.engine.chunk, parse_count(argv[4], "CHUNK", 1, kPositions));
  }
  return options;
}

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// A line on stderr every half minute of a long prefill; its time grows with the square of the tokens.
class PrefillProgress {
 public:
  void update(int64_t done, int64_t total) {
    if (watch_.seconds() < next_) return;
    next_ = watch_.seconds() + kInterval;
    fmt::print(stderr, "read {} of {} tokens in {:.0f} s\n", done, total, watch_.seconds());
  }

 private:
  static constexpr double kInterval = 30;  // seconds
  Stopwatch watch_;
  double next_ = kInterval;
};

Result<void> read_haystack(Engine& engine, const std::vector<int32_t>& tokens) {
  PrefillProgress progress;
  GenerationRequest request;
  request.prompt = tokens;
  request.max_tokens = 0;
  GenerationCallbacks callbacks;
  callbacks.on_prompt = [&](int64_t done, int64_t total) {
    progress.update(done, total);
    return true;
  };
  ASSIGN_OR_RETURN(const GenerationResult result, engine.generate(std::move(request), std::move(callbacks)));
  const Work& spent = result.timings.prefill;
  const double seconds = result.timings.prefill_seconds;
  fmt::print(
      "prefill: {} tokens in {:.1f} s, {:.0f} tokens/s; index {:.1f} % of the time, {:.1f} GFLOP/s in it\n",
      tokens.size(), seconds, static_cast<double>(tokens.size()) / seconds,
      100 * spent.seconds(Part::index) / seconds,
      static_cast<double>(spent.flops(Part::index)) * 1e-9 / spent.seconds(Part::index));
  return {};
}

// Whether the value came back.
Result<bool> find(Engine& engine, const std::vector<int32_t>& prompt, int percent) {
  const int64_t number = record_at_depth(std::ssize(prompt), percent);
  const Record needle = record(number);
  ASSIGN_OR_RETURN(const GenerationResult result, ask(engine, prompt, needle));
  const bool found = is_answer(result.ids, needle);
  fmt::print("needle at {:3} %, token {:>7}: key {} -> {}, {}; {:.2f} ms per token\n", percent,
             number * kRecordTokens, fmt::join(needle.key, " "), fmt::join(result.ids, " "),
             found ? "found" : fmt::format("LOST (expected {})", fmt::join(needle.value, " ")),
             result.timings.decode_seconds * 1e3 / static_cast<double>(std::ssize(result.ids) - 1));
  return found;
}

Result<bool> run(const Options& options) {
  RETURN_IF_ERROR(write_model(options.directory));
  if (options.tokens == 0) return true;
  ASSIGN_OR_RETURN(Engine engine, Engine::load(options.directory, options.engine));
  const ModelInfo& info = engine.info();
  std::vector<int32_t> tokens = haystack(options.tokens);
  fmt::print("{}: {} layers {}, index_topk {}, {} threads, {}; {} records, each with a key of its own\n",
             options.directory, info.layers, info.schedule, info.index_topk, info.options.threads, info.isa,
             options.tokens / kRecordTokens);

  RETURN_IF_ERROR(read_haystack(engine, tokens));
  tokens.resize(tokens.size() - kQuestionRoom);
  bool all_found = true;
  for (const int percent : {0, 25, 50, 75, 100}) {
    ASSIGN_OR_RETURN(const bool found, find(engine, tokens, percent));
    all_found = all_found && found;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("peak memory: {:.1f} MB; the cache takes {} bytes per token\n",
             static_cast<double>(usage.ru_maxrss) * 1024e-6, info.cache_bytes_per_token);
  return all_found;
}

int main_of(int argc, char** argv) {
  if (argc < 2 || argc > 5 || argv[1][0] == '-') {
    fmt::print(stderr, "{}", kUsage);
    return 2;
  }
  const Result<Options> options = parse_options(argc, argv);
  if (!options.ok()) {
    fmt::print(stderr, "needle: error: {}\n{}", options.error().message, kUsage);
    return 2;
  }
  const Result<bool> all_found = run(*options);
  if (!all_found.ok()) fmt::print(stderr, "needle: error: {}\n", all_found.error().message);
  return all_found.ok() && *all_found ? 0 : 1;
}

}  // namespace
}  // namespace indexshare::needle

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  return indexshare::needle::main_of(argc, argv);
}
