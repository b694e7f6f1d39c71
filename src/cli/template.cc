// indexshare template: the text of a prompt, from messages and a model's chat template.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/output.h"
#include "text/chat_template.h"

namespace indexshare::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string model;
  std::string messages;
};

Result<ChatTemplate> load_template(const fs::path& path) {
  ASSIGN_OR_RETURN(std::optional<ChatTemplate> loaded, load_chat_template(path));
  if (!loaded) {
    return make_error(
        "{} has no chat template (chat_template.jinja, or chat_template in tokenizer_config.json)",
        path.string());
  }
  return std::move(*loaded);
}

Result<ExitCode> run(const Options& options) {
  fs::path path = options.model;
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return make_error("{}: no such file or directory", options.model);
  if (path.filename() == "tokenizer_config.json") path = fs::absolute(path).parent_path();
  const fs::path directory = fs::is_directory(path) ? path : fs::absolute(path).parent_path();
  ASSIGN_OR_RETURN(const ChatTemplate chat_template, load_template(path));
  ASSIGN_OR_RETURN(const SpecialTokens tokens, load_special_tokens(directory));

  ASSIGN_OR_RETURN(const std::string text, read_text(options.messages));
  ASSIGN_OR_RETURN(const Json given, parse_json(text, name_of_input(options.messages)));
  if (!given.is_object() || !given.contains("messages")) {
    return make_error("{} holds {}, expected an object with \"messages\"", name_of_input(options.messages),
                      given.is_object() ? "no \"messages\"" : json_kind(given));
  }
  Json variables = Json::object();
  tokens.add_to(variables);
  for (const auto& [name, value] : given.items()) variables[name] = value;
  ASSIGN_OR_RETURN(const std::string rendered, chat_template.render(variables));
  return print(rendered);
}

}  // namespace

Action add_template(CLI::App& command) {
  auto options = std::make_shared<Options>();
  command.add_option("MODEL", options->model, "directory of a model, or a .jinja file")
      ->required()
      ->type_name("");
  command
      .add_option(
          "--messages", options->messages,
          "JSON file: {\"messages\": [...], \"tools\": [...], ...}, the other keys being variables of the "
          "template; -: the standard input")
      ->required()
      ->type_name("FILE");
  return [options] { return run(*options); };
}

}  // namespace indexshare::cli
