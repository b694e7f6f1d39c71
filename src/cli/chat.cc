// indexshare chat: a conversation, line by line.
#include <CLI/CLI.hpp>
#include <memory>
#include <span>

#include "base/error.h"
#include "base/file.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/line_reader.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/prompt.h"
#include "cli/session_flag.h"

namespace indexshare::cli {
namespace {

struct Options {
  std::string model;
  bool quiet = false;
  std::string session;
  ChatFlags chat;
  SamplingFlags sampling;
  EngineOptions engine;
};

class Chat {
 public:
  Chat(const Options& options, Engine& engine, ChatFormat format, KeptSession session)
      : options_(options),
        engine_(engine),
        format_(std::move(format)),
        session_(std::move(session)),
        begun_(session_.tokens()),
        said_(begun_),
        reader_(make_line_reader(history_path("chat_history"))),
        system_(options.chat.system) {}

  /// Talks, and saves the session, however the talk ends.
  Result<ExitCode> run();

 private:
  enum class Next : uint8_t { go_on, leave, stop };  // stop: the answer was interrupted
  struct Word {
    const char* name;
    const char* argument;  // empty: none
    const char* help;
    Result<Next> (Chat::*run)(const std::string& argument);
  };
  static std::span<const Word> words();

  Result<Next> obey(const std::string& line);
  Result<Next> answer(const std::string& text);
  Result<Next> reset(const std::string&);
  Result<Next> set_system(const std::string& text);
  Result<Next> save(const std::string& path);
  Result<Next> help(const std::string&);
  Result<Next> leave(const std::string&) { return Next::leave; }
  Result<ExitCode> talk();
  Json messages() const;
  Result<std::vector<int32_t>> encode() const;
  void remark(std::string_view text) const;

  const Options& options_;
  Engine& engine_;
  ChatFormat format_;
  KeptSession session_;
  std::vector<int32_t> begun_;  // the conversation before the first of turns_, from the session
  std::vector<int32_t> said_;   // the whole one, as the session is to hold it
  std::unique_ptr<LineReader> reader_;
  std::string system_;
  Json turns_ = Json::array();  // user and assistant
};

std::span<const Chat::Word> Chat::words() {
  static constexpr Word kWords[] = {
      {"/reset", "", "begin a new conversation", &Chat::reset},
      {"/system", "TEXT", "set the system message (none: remove it)", &Chat::set_system},
      {"/save", "FILE", "write the conversation as JSON, which `indexshare template` reads", &Chat::save},
      {"/help", "", "show this list", &Chat::help},
      {"/exit", "", "leave (also Ctrl-D)", &Chat::leave},
  };
  return kWords;
}

Json Chat::messages() const {
  Json all = Json::array();
  if (!system_.empty()) all.push_back(message("system", system_));
  for (const Json& turn : turns_) all.push_back(turn);
  return all;
}

// Something that is no part of an answer.
void Chat::remark(std::string_view text) const {
  print_error(stderr_is_terminal() ? fmt::format("\x1b[2m{}\x1b[0m\n", text) : fmt::format("{}\n", text));
}

// What was restored is a conversation in tokens alone: what is said now goes behind it, as the template puts
// it behind its own beginning.
Result<std::vector<int32_t>> Chat::encode() const {
  ASSIGN_OR_RETURN(std::vector<int32_t> ids, format_.encode(messages()));
  if (begun_.empty()) return ids;
  ASSIGN_OR_RETURN(const std::vector<int32_t> opening, format_.encode_opening());
  if (ids.size() < opening.size() || !std::equal(opening.begin(), opening.end(), ids.begin())) {
    return make_error("the model's chat template cannot go on with a session: /reset begins anew");
  }
  ids.erase(ids.begin(), ids.begin() + std::ssize(opening));
  ids.insert(ids.begin(), begun_.begin(), begun_.end());
  return ids;
}

Result<Chat::Next> Chat::reset(const std::string&) {
  turns_.clear();
  begun_.clear();
  return Next::go_on;
}

Result<Chat::Next> Chat::set_system(const std::string& text) {
  system_ = text;
  return Next::go_on;
}

Result<Chat::Next> Chat::save(const std::string& path) {
  if (path.empty()) return make_error("/save needs the name of a file");
  RETURN_IF_ERROR(write_file(path, dump_json({{"messages", messages()}}, 2) + "\n"));
  return Next::go_on;
}

Result<Chat::Next> Chat::help(const std::string&) {
  std::string text;
  for (const Word& word : words()) {
    text += fmt::format("{:<14} {}\n", fmt::format("{} {}", word.name, word.argument), word.help);
  }
  remark(
      text +
      "A line that ends with \\ goes on in the next one; one that begins with // is said with a single /.\n"
      "Ctrl-C stops an answer.");
  return Next::go_on;
}

Result<Chat::Next> Chat::obey(const std::string& line) {
  const size_t space = line.find(' ');
  const std::string name = line.substr(0, space);
  std::string argument;
  if (space != std::string::npos) {
    if (const size_t first = line.find_first_not_of(' ', space); first != std::string::npos) {
      argument = line.substr(first);
    }
  }
  for (const Word& word : words()) {
    if (name == word.name) return (this->*word.run)(argument);
  }
  return make_error("there is no command {}: /help lists them", name);
}

Result<Chat::Next> Chat::answer(const std::string& text) {
  RETURN_IF_ERROR(check_text(text, "the message"));
  const Interrupt interrupt;
  turns_.push_back(message("user", text));
  const auto forget = [this](const Error& error) {
    turns_.erase(turns_.size() - 1);
    return error;
  };
  auto made = make_request(options_.sampling, engine_);
  if (!made.ok()) return forget(made.error());
  GenerationRequest request = std::move(*made);
  auto prompt = encode();
  if (!prompt.ok()) return forget(prompt.error());
  request.prompt = std::move(*prompt);

  AnswerStream stream(engine_);
  ProgressLine reading("reading the conversation", "tokens");
  GenerationCallbacks callbacks;
  callbacks.on_piece = [&](const GeneratedPiece& piece) {
    reading.clear();
    return stream.show(piece) && !interrupt.requested();
  };
  callbacks.on_prompt = [&](int64_t done, int64_t total) {
    reading.update(done, total);
    return !interrupt.requested();
  };
  const auto result = engine_.generate(request, std::move(callbacks));
  if (!result.ok()) return forget(result.error());
  RETURN_IF_ERROR(stream.finish());
  if (result->ids.empty()) {
    turns_.erase(turns_.size() - 1);
  } else {
    turns_.push_back(message("assistant", result->text));
    said_ = answered_tokens(engine_, request.prompt, *result);
    if (!result->reasoning.empty()) turns_.back()["reasoning_content"] = result->reasoning;
    if (!options_.quiet) remark(statistics_line(*result));
  }
  return interrupt.requested() ? Next::stop : Next::go_on;
}

Result<ExitCode> Chat::run() {
  Result<ExitCode> left = talk();
  if (said_ != session_.tokens()) {
    const Result<void> saved = session_.save(said_);
    if (left.ok() && !saved.ok()) return saved.error();
  }
  return left;
}

Result<ExitCode> Chat::talk() {
  const bool interactive = reader_->interactive();
  if (interactive)
    remark(fmt::format("{}: {} layers ({}), up to {} tokens. /help lists the commands.", options_.model,
                       engine_.info().layers, engine_.info().schedule, engine_.info().context));
  if (!begun_.empty() && !options_.quiet) {
    remark(fmt::format("{}: goes on after {} tokens", options_.session, begun_.size()));
  }
  while (true) {
    Entry entry = reader_->read();
    if (entry.kind == Entry::Kind::cancelled) continue;
    if (entry.kind == Entry::Kind::end) break;
    if (entry.text.find_first_not_of(" \t\r\n") == std::string::npos) continue;
    reader_->remember(entry.text);
    const bool is_command = entry.text.front() == '/' && !entry.text.starts_with("//");
    if (entry.text.starts_with("//")) entry.text.erase(0, 1);
    const Result<Next> next = is_command ? obey(entry.text) : answer(entry.text);
    if (!next.ok()) {
      if (!interactive) return next.error();  // nobody is there to go on otherwise
      remark(fmt::format("error: {}", next.error().message));
    } else if (*next == Next::leave) {
      return ExitCode::done;
    } else if (*next == Next::stop && !interactive) {
      return ExitCode::interrupted;
    }
  }
  return interactive ? print("\n") : ExitCode::done;
}

Result<ExitCode> run(const Options& options) {
  ASSIGN_OR_RETURN(Engine engine, load_engine(options.model, options.engine));
  ASSIGN_OR_RETURN(ChatFormat format, ChatFormat::create(engine, options.chat, "use indexshare run --raw"));
  ASSIGN_OR_RETURN(KeptSession session, KeptSession::open(engine, options.session));
  return Chat(options, engine, std::move(format), std::move(session)).run();
}

}  // namespace

Action add_chat(CLI::App& command) {
  auto options = std::make_shared<Options>();
  add_model(command, options->model);
  command.add_flag("-q,--quiet", options->quiet, "no statistics");
  add_session_flag(command, options->session);
  add_chat_flags(command, options->chat);
  add_sampling_flags(command, options->sampling);
  add_engine_flags(command, options->engine);
  return [options] { return run(*options); };
}

}  // namespace indexshare::cli
