// The program `indexshare`: its commands, and how they end.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "indexshare/result.h"

namespace CLI {
class App;
}

namespace indexshare::cli {

enum class ExitCode : int {
  done = 0,
  failed = 1,
  wrong_usage = 2,
  interrupted = 130,  // by Ctrl-C, after what was done so far has been shown
};

/// What a command does once its arguments are read. An Error is told as one sentence on stderr; then the
/// program ends as `failed`.
using Action = std::function<Result<ExitCode>()>;

/// A command stands in a file of its name: `Action add_NAME(CLI::App& command)` declares the arguments and
/// returns the action, which owns what was read. To add one, write that file, list it in CMakeLists.txt,
/// declare the function in commands.h and give it a row in commands.cc.
struct Command {
  const char* name;
  const char* summary;
  Action (*add)(CLI::App& command);
};

/// Ends the reading of the arguments with a sentence about what is wrong with them (exit code 2). For the
/// callbacks that CLI11 runs meanwhile; no action calls it.
[[noreturn]] void refuse_usage(const std::string& sentence);
/// The value of a flag: `flag` is "`text`", expected `expected`.
[[noreturn]] void refuse_value(std::string_view flag, std::string_view text, std::string_view expected);

int run_app(std::span<const Command> commands, int argc, const char* const* argv);

}  // namespace indexshare::cli
