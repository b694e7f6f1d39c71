// indexshare perplexity: how well a model predicts a text.
#include "engine/perplexity.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/token_file.h"

namespace indexshare::cli {
namespace {

constexpr int64_t kDefaultWindow = 2048;
constexpr int64_t kMaxWindow = std::numeric_limits<int32_t>::max();

struct Options {
  std::string model;
  std::optional<std::string> file;
  std::optional<std::string> ids_file;
  std::optional<int64_t> window;
  std::optional<int64_t> stride;
  bool token_logprobs = false;
  bool json = false;
  EngineOptions engine;
};

void check(const Options& options) {
  if (options.file.has_value() == options.ids_file.has_value()) {
    refuse_usage("expected one of FILE and --ids-file");
  }
  if (options.window && options.stride && *options.stride >= *options.window) {
    refuse_usage(
        fmt::format("--stride is {}, expected less than --window {}: a window needs a token before "
                    "those that it scores",
                    *options.stride, *options.window));
  }
}

PerplexityOptions window_options(const Options& options, const ModelRunner& runner) {
  const int64_t twice = 2 * options.stride.value_or(0);
  PerplexityOptions windows;
  windows.window =
      options.window.value_or(std::min(std::max(kDefaultWindow, twice), runner.options().context));
  windows.stride = options.stride.value_or(windows.window / 2);
  return windows;
}

struct Sum {
  double log_likelihood = 0;
  int64_t tokens = 0;
};

Sum sum_of(std::span<const ScoredWindow> windows) {
  Sum sum;
  for (const ScoredWindow& window : windows) {
    sum.log_likelihood += window.log_likelihood;
    sum.tokens += window.scored();
  }
  return sum;
}

std::string json_text(const PerplexityResult& result, const PerplexityOptions& windows, bool token_logprobs) {
  const Sum sum = sum_of(result.windows);
  Json json = {{"perplexity", perplexity(sum.log_likelihood, sum.tokens)},
               {"tokens", sum.tokens},
               {"log_likelihood", sum.log_likelihood},
               {"window", windows.window},
               {"stride", windows.stride},
               {"complete", result.is_complete}};
  json["windows"] = Json::array();
  for (const ScoredWindow& window : result.windows) {
    json["windows"].push_back({{"begin", window.begin},
                               {"end", window.end},
                               {"first_scored", window.first_scored},
                               {"tokens", window.scored()},
                               {"log_likelihood", window.log_likelihood},
                               {"perplexity", perplexity(window.log_likelihood, window.scored())}});
  }
  if (token_logprobs) json["token_logprobs"] = result.token_logprobs;
  return dump_json(json) + "\n";
}

std::string table_text(const PerplexityResult& result, const PerplexityOptions& windows) {
  std::string text =
      fmt::format("{:>21}{:>9}{:>16}{:>13}\n", "window", "scored", "log-likelihood", "perplexity");
  for (const ScoredWindow& window : result.windows) {
    text +=
        fmt::format("{:>10}-{:<10}{:>9}{:>16.3f}{:>13.4f}\n", window.begin, window.end - 1, window.scored(),
                    window.log_likelihood, perplexity(window.log_likelihood, window.scored()));
  }
  const Sum sum = sum_of(result.windows);
  text += fmt::format("{:>21}{:>9}{:>16.3f}{:>13.4f}\n", result.is_complete ? "all" : "until stopped",
                      sum.tokens, sum.log_likelihood, perplexity(sum.log_likelihood, sum.tokens));
  text += fmt::format("windows of {} tokens, one every {}; each scores what the one before did not reach\n",
                      windows.window, windows.stride);
  return text;
}

Result<ExitCode> run(const Options& options) {
  const Interrupt interrupt;
  std::string text;
  std::vector<int32_t> tokens;
  if (options.file) {
    ASSIGN_OR_RETURN(text, read_text(*options.file));
  } else {
    ASSIGN_OR_RETURN(tokens, read_token_file(*options.ids_file));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<ModelRunner> runner, load_runner(options.model, options.engine));
  if (options.file) {
    ASSIGN_OR_RETURN(tokens, encode_plain(*runner, text));
  }

  const PerplexityOptions windows = window_options(options, *runner);
  Session session(*runner);
  ProgressLine line("scoring", "tokens");
  const auto progress = [&](int64_t done, int64_t total) {
    line.update(done, total);
    return !interrupt.requested();
  };
  ASSIGN_OR_RETURN(const PerplexityResult result, score_tokens(session, tokens, windows, progress));
  line.clear();
  if (result.windows.empty()) return ExitCode::interrupted;
  RETURN_IF_ERROR(
      print(options.json ? json_text(result, windows, options.token_logprobs) : table_text(result, windows)));
  return result.is_complete ? ExitCode::done : ExitCode::interrupted;
}

}  // namespace

Action add_perplexity(CLI::App& command) {
  auto options = std::make_shared<Options>();
  add_model(command, options->model);
  command.add_option("FILE", options->file, "the text; -: the standard input")->type_name("");
  command
      .add_option(
          "--ids-file", options->ids_file,
          "score token ids instead: a file of numbers, as tokenize prints them; -: the standard input")
      ->type_name("FILE");
  add_integer(command, "--window", options->window, int64_t{2}, kMaxWindow,
              "tokens of a window (default: 2048, or twice the stride; at most the context)");
  add_integer(command, "--stride", options->stride, int64_t{1}, kMaxWindow - 1,
              "tokens from the beginning of a window to that of the next (default: half a window)");
  CLI::Option* json = command.add_flag("--json", options->json, "print one JSON object");
  command
      .add_flag("--token-logprobs", options->token_logprobs,
                "with --json: the log-probability of each token but the first")
      ->needs(json);
  add_engine_flags(command, options->engine);
  command.footer(
      "Each window is run from its first token on, and scores the tokens that the window before it did not\n"
      "reach; the first token of the text is not scored. So every score but the first window's has at least\n"
      "window - stride tokens before it: a small stride is exact and slow, a large one fast.\n"
      "Perplexity is exp(-log-likelihood / tokens), natural logarithms, without a chat template.");
  command.callback([options] { check(*options); });
  return [options] { return run(*options); };
}

}  // namespace indexshare::cli
