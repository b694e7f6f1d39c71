#include "cli/app.h"

#include <CLI/CLI.hpp>
#include <csignal>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cli/output.h"

namespace indexshare::cli {
namespace {

constexpr const char* kFooter =
    "See indexshare COMMAND --help.\n"
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.";

// Help without CLI11's remarks on which options exclude or need others: the texts say so where it matters.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(34); }
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string type = option->get_type_name();
    return type.empty() ? type : " " + type;
  }
};

void tell(std::string_view sentence) {
  print_error("indexshare: error: ");
  print_error(sentence);
  print_error("\n");
}

int fail_usage(const CLI::App& app, std::string_view sentence) {
  tell(sentence);
  const auto commands = app.get_subcommands();
  print_error(fmt::format("see indexshare {}--help\n",
                          commands.empty() ? std::string() : commands.front()->get_name() + " "));
  return static_cast<int>(ExitCode::wrong_usage);
}

std::string unexpected(const CLI::App& app) {
  const std::vector<std::string> rest = app.remaining(true);
  if (rest.empty()) return "an argument was not expected";
  const std::string& first = rest.front();
  if (first.size() > 1 && first.front() == '-') return fmt::format("there is no flag {}", first);
  if (app.get_subcommands().empty()) return fmt::format("there is no command \"{}\"", first);
  return fmt::format("one argument too many: \"{}\" (quote a text that has spaces)", first);
}

// CLI11's errors in our own words.
std::string sentence_of(const CLI::App& app, const CLI::ParseError& error) {
  const std::string text = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) return unexpected(app);
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr) {
    const size_t word = text.find(" excludes ");
    return fmt::format("{} and {} exclude each other", text.substr(0, word), text.substr(word + 10));
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const std::string flag = text.substr(0, text.find(':'));
    return text.find("missing") != std::string::npos ? fmt::format("{} needs a value", flag)
                                                     : fmt::format("{} was given more than once", flag);
  }
  return text;
}

Result<ExitCode> run_action(const Action& action) {
  try {
    return action();
  } catch (const std::bad_alloc&) {
    return make_error("out of memory");
  } catch (const std::exception& e) {  // of the standard library, where nothing of ours expected one
    return make_error("unexpected: {}", e.what());
  }
}

int finish(const Result<ExitCode>& result) {
  if (result.ok()) return static_cast<int>(*result);
  // Whoever reads us may have read enough (| head): then there is nothing to tell.
  if (!reader_left()) tell(result.error().message);
  return static_cast<int>(ExitCode::failed);
}

}  // namespace

void refuse_usage(const std::string& sentence) {
  throw CLI::ValidationError(sentence, CLI::ExitCodes::ValidationError);
}

void refuse_value(std::string_view flag, std::string_view text, std::string_view expected) {
  refuse_usage(fmt::format("{} is \"{}\", expected {}", flag, text, expected));
}

int run_app(std::span<const Command> commands, int argc, const char* const* argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of the write instead
  std::signal(SIGXFSZ, SIG_IGN);  // so is a file that grows past its limit
  CLI::App app("Inference of GLM-5-family models with IndexShare.", "indexshare");
  app.set_version_flag("--version", "indexshare " INDEXSHARE_VERSION, "show the version");
  app.require_subcommand(0, 1);
  app.footer(kFooter);
  app.formatter(std::make_shared<HelpFormatter>());  // the commands inherit it
  app.set_help_flag("-h,--help", "show this help");

  std::vector<Action> actions;
  std::vector<const CLI::App*> apps;
  for (const Command& command : commands) {
    CLI::App* subcommand = app.add_subcommand(command.name, command.summary);
    subcommand->footer("");
    actions.push_back(command.add(*subcommand));
    apps.push_back(subcommand);
  }

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForVersion&) {
    return finish(print(std::string("indexshare " INDEXSHARE_VERSION "\n")));
  } catch (const CLI::Success&) {
    return finish(print(app.help()));
  } catch (const CLI::ParseError& error) {
    return fail_usage(app, sentence_of(app, error));
  }
  for (size_t i = 0; i < apps.size(); ++i) {
    if (apps[i]->parsed()) return finish(run_action(actions[i]));
  }
  return fail_usage(app, "a command is missing");
}

}  // namespace indexshare::cli
