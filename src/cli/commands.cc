#include "cli/commands.h"

namespace indexshare::cli {

std::span<const Command> all_commands() {
  static constexpr Command kCommands[] = {
      {"run", "answer one prompt", add_run},
      {"chat", "hold a conversation", add_chat},
      {"serve", "answer over HTTP, by the APIs of OpenAI and Anthropic", add_serve},
      {"inspect", "tell what a model is: its layers, schedule, sizes, tokens", add_inspect},
      {"tokenize", "turn text into token ids, and back", add_tokenize},
      {"template", "turn messages into the text of a prompt", add_template},
      {"perplexity", "measure how well a model predicts a text", add_perplexity},
      {"dump", "write logits, selections, routes and hidden states to a file", add_dump},
      {"bench", "measure the speed of a model, or of a geometry with random weights", add_bench},
      {"plan", "tell how much memory a model takes, what fits and what to change", add_plan},
      {"flops", "count the arithmetic of one token, part by part", add_flops},
  };
  return kCommands;
}

}  // namespace indexshare::cli
