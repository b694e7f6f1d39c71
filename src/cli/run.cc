// indexshare run: one answer to one prompt.
#include <CLI/CLI.hpp>
#include <memory>

#include "base/error.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/prompt.h"
#include "cli/session_flag.h"

namespace indexshare::cli {
namespace {

struct Options {
  std::string model;
  std::optional<std::string> prompt;
  std::optional<std::string> prompt_file;
  std::optional<std::vector<int32_t>> ids;
  bool raw = false;
  bool json = false;
  bool quiet = false;
  std::string session;
  ChatFlags chat;
  SamplingFlags sampling;
  EngineOptions engine;
};

void check(const Options& options) {
  const int prompts =
      int{options.prompt.has_value()} + int{options.prompt_file.has_value()} + int{options.ids.has_value()};
  if (prompts != 1) {
    refuse_usage(fmt::format("{}, expected one of PROMPT, --prompt-file and --ids",
                             prompts == 0 ? "no prompt was given" : "more than one prompt was given"));
  }
  const ChatFlags& chat = options.chat;
  if ((options.raw || options.ids) && (!chat.system.empty() || chat.enable_thinking)) {
    refuse_usage(
        "--raw and --ids leave out the chat template, which --system and the thinking flags are for");
  }
}

// The prompt's text, checked before the model is loaded; empty for --ids.
Result<std::string> read_prompt(const Options& options) {
  if (options.ids) return std::string();
  if (options.prompt_file) return read_text(*options.prompt_file);
  RETURN_IF_ERROR(check_text(*options.prompt, "PROMPT"));
  return *options.prompt;
}

Result<std::vector<int32_t>> encode_prompt(const Engine& engine, const Options& options,
                                           const std::string& text) {
  if (options.ids) return *options.ids;
  if (options.raw) {
    if (!engine.info().has_tokenizer) {
      return make_error("{} has no tokenizer.json: give the prompt as token ids, with --ids", options.model);
    }
    return engine.encode(text);
  }
  ASSIGN_OR_RETURN(const ChatFormat format,
                   ChatFormat::create(engine, options.chat, "add --raw to have the prompt continued"));
  Json messages = Json::array();
  if (!options.chat.system.empty()) messages.push_back(message("system", options.chat.system));
  messages.push_back(message("user", text));
  return format.encode(messages);
}

Result<ExitCode> run(const Options& options) {
  const Interrupt interrupt;
  ASSIGN_OR_RETURN(const std::string text, read_prompt(options));
  ASSIGN_OR_RETURN(Engine engine, load_engine(options.model, options.engine));
  ASSIGN_OR_RETURN(GenerationRequest request, make_request(options.sampling, engine));
  ASSIGN_OR_RETURN(request.prompt, encode_prompt(engine, options, text));
  ASSIGN_OR_RETURN(const KeptSession session, KeptSession::open(engine, options.session));
  if (const std::string line = session.kept_line(request.prompt); !line.empty() && !options.quiet) {
    print_error(line + "\n");
  }

  AnswerStream stream(engine);
  ProgressLine reading("reading the prompt", "tokens");
  ProgressLine generating("generating", "tokens");
  int64_t count = 0;
  GenerationCallbacks callbacks;
  callbacks.on_piece = [&](const GeneratedPiece& piece) {
    reading.clear();
    ++count;
    if (options.json) {
      generating.update(count, 0);
    } else if (!stream.show(piece)) {
      return false;
    }
    return !interrupt.requested();
  };
  int64_t unread = std::ssize(request.prompt);
  callbacks.on_prompt = [&](int64_t done, int64_t total) {
    reading.update(done, total);
    unread = total - done;
    return !interrupt.requested();
  };
  ASSIGN_OR_RETURN(const GenerationResult result, engine.generate(request, std::move(callbacks)));
  reading.clear();
  generating.clear();
  std::vector<int32_t> tokens = answered_tokens(engine, request.prompt, result);
  if (result.ids.empty()) tokens.resize(tokens.size() - static_cast<size_t>(unread));  // it was interrupted

  if (options.json) {
    RETURN_IF_ERROR(print(dump_json(answer_json(engine, request, result)) + "\n"));
  } else {
    RETURN_IF_ERROR(stream.finish());
    if (!options.quiet) print_error(statistics_line(result) + "\n");
  }
  RETURN_IF_ERROR(session.save(tokens));
  return interrupt.requested() ? ExitCode::interrupted : ExitCode::done;
}

}  // namespace

Action add_run(CLI::App& command) {
  auto options = std::make_shared<Options>();
  add_model(command, options->model);
  command.add_option("PROMPT", options->prompt, "what to say to the model")->type_name("");
  command
      .add_option("--prompt-file", options->prompt_file,
                  "read the prompt from a file; -: from the standard input")
      ->type_name("FILE");
  add_value(command, "--ids", options->ids, "1,2,3", "the prompt as token ids, without template or tokenizer",
            parse_ids);
  command.add_flag("--raw", options->raw, "continue the prompt as it stands, without the chat template");
  CLI::Option* json = command.add_flag("--json", options->json, "print one JSON object at the end");
  command.add_flag("-q,--quiet", options->quiet, "no statistics");
  add_integer(command, "--logprobs", options->sampling.logprobs, 0, kMaxLogprobs,
              "with --json: log-probabilities of the tokens and of the N best at each place")
      ->needs(json);
  add_session_flag(command, options->session);
  add_chat_flags(command, options->chat);
  add_sampling_flags(command, options->sampling);
  add_engine_flags(command, options->engine);
  command.callback([options] { check(*options); });
  return [options] { return run(*options); };
}

}  // namespace indexshare::cli
