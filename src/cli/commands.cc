#include "cli/commands.h"

namespace indexshare::cli {

std::span<const Command> all_commands() {
  static constexpr Command kCommands[] = {
      {"tokenize", "turn text into token ids, and back", add_tokenize},
  };
  return kCommands;
}

}  // namespace indexshare::cli
