// The commands of the program. The table in commands.cc is what `indexshare --help` lists.
#pragma once

#include <span>

#include "cli/app.h"

namespace indexshare::cli {

std::span<const Command> all_commands();

// Each in the file of its name.
Action add_bench(CLI::App& command);
Action add_chat(CLI::App& command);
Action add_dump(CLI::App& command);
Action add_flops(CLI::App& command);
Action add_inspect(CLI::App& command);
Action add_perplexity(CLI::App& command);
Action add_plan(CLI::App& command);
Action add_run(CLI::App& command);
Action add_serve(CLI::App& command);
Action add_template(CLI::App& command);
Action add_tokenize(CLI::App& command);

}  // namespace indexshare::cli
