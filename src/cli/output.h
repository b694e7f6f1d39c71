// The standard output and error streams, written through at once, with failures as values.
#pragma once

#include <string_view>

#include "cli/app.h"
#include "indexshare/result.h"

namespace indexshare::cli {

/// Writes all of `text` to stdout; returns `done`, so that an action can end with it.
Result<ExitCode> print(std::string_view text);

/// Writes to stderr; a failure is nobody's to hear.
void print_error(std::string_view text);

/// Whether whoever read stdout through a pipe has closed it.
bool reader_left();

bool stdout_is_terminal();
bool stderr_is_terminal();
bool stdin_is_terminal();

}  // namespace indexshare::cli
