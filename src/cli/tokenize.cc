// indexshare tokenize: text to token ids and back, with a model's tokenizer.json.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/options.h"
#include "cli/output.h"
#include "text/tokenizer.h"

namespace indexshare::cli {
namespace {

struct Options {
  std::string model;
  std::optional<std::string> text;
  std::optional<std::vector<int32_t>> ids;
  bool jsonl = false;
  bool json = false;
};

Result<Tokenizer> load_tokenizer(const std::filesystem::path& model) {
  if (std::error_code ignored; !std::filesystem::is_directory(model, ignored)) return Tokenizer::load(model);
  return Tokenizer::load(model / "tokenizer.json");
}

Json tokens_json(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  Json tokens = Json::array();
  for (const int32_t id : ids) tokens.push_back(std::string(tokenizer.token_bytes(id)));
  return tokens;
}

// One JSON string per line in, one list of ids per line out, line by line.
Result<ExitCode> tokenize_lines(const Tokenizer& tokenizer) {
  std::string line;
  for (int64_t number = 1; std::getline(std::cin, line); ++number) {
    const std::string source = fmt::format("line {} of the standard input", number);
    ASSIGN_OR_RETURN(const Json json, parse_json(line, source));
    if (!json.is_string()) return make_error("{} is {}, expected a JSON string", source, json_kind(json));
    RETURN_IF_ERROR(print(dump_json(Json(tokenizer.encode(json.get<std::string>()))) + "\n"));
  }
  return ExitCode::done;
}

Result<ExitCode> detokenize(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, bool json) {
  for (const int32_t id : ids) {
    if (id >= tokenizer.vocab_size()) {
      return make_error("token id {} is outside the vocabulary of {} tokens", id, tokenizer.vocab_size());
    }
  }
  const std::string text = tokenizer.decode(ids, /*skip_special=*/false);
  if (!json) return print(text + "\n");
  return print(dump_json({{"text", text}, {"ids", ids}, {"tokens", tokens_json(tokenizer, ids)}}) + "\n");
}

Result<ExitCode> run(const Options& options) {
  ASSIGN_OR_RETURN(const Tokenizer tokenizer, load_tokenizer(options.model));
  if (options.jsonl) return tokenize_lines(tokenizer);
  if (options.ids) return detokenize(tokenizer, *options.ids, options.json);
  std::string text = options.text.value_or("");
  if (!options.text) {
    ASSIGN_OR_RETURN(text, read_text("-"));
  } else {
    RETURN_IF_ERROR(check_text(text, "TEXT"));
  }
  const std::vector<int32_t> ids = tokenizer.encode(text);
  if (options.json) {
    return print(dump_json({{"ids", ids}, {"tokens", tokens_json(tokenizer, ids)}}) + "\n");
  }
  return print(fmt::format("{}\n", fmt::join(ids, " ")));
}

}  // namespace

Action add_tokenize(CLI::App& command) {
  auto options = std::make_shared<Options>();
  command.add_option("MODEL", options->model, "directory of a model, or a tokenizer.json")
      ->required()
      ->type_name("");
  CLI::Option* text =
      command.add_option("TEXT", options->text, "the text (default: the standard input)")->type_name("");
  CLI::Option* ids =
      add_value(command, "--ids", options->ids, "1,2,3", "print the text of these ids instead", parse_ids);
  CLI::Option* jsonl =
      command.add_flag("--jsonl", options->jsonl,
                       "for each line of the standard input, a JSON string, print a JSON list of ids");
  CLI::Option* json = command.add_flag("--json", options->json, "print one JSON object with ids and tokens");
  ids->excludes(text);
  jsonl->excludes(text)->excludes(ids)->excludes(json);
  return [options] { return run(*options); };
}

}  // namespace indexshare::cli
