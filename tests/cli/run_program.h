// Runs the program's commands in a process of their own and catches what they print.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "cli/app.h"
#include "cli/commands.h"

namespace indexshare::testing {

struct ProgramResult {
  int code = -1;  // -1: killed by a signal
  std::string out, err;
};

struct ProgramOptions {
  std::string input;                        // of the standard input
  std::optional<rlim_t> largest_file = {};  // bytes that any file may have: as a full disk
};

inline std::string contents(std::FILE* file) {
  std::string text;
  std::rewind(file);
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

/// `arguments` without the program's name.
inline ProgramResult run_program(std::vector<std::string> arguments, const ProgramOptions& options = {}) {
  std::FILE* in = std::tmpfile();
  std::FILE* out = std::tmpfile();
  std::FILE* err = std::tmpfile();
  std::fwrite(options.input.data(), 1, options.input.size(), in);
  std::fflush(in);
  std::rewind(in);
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(::fileno(in), STDIN_FILENO);
    ::dup2(::fileno(out), STDOUT_FILENO);
    ::dup2(::fileno(err), STDERR_FILENO);
    if (options.largest_file) {
      const rlimit limit = {.rlim_cur = *options.largest_file, .rlim_max = *options.largest_file};
      ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    std::vector<const char*> argv = {"indexshare"};
    for (const std::string& argument : arguments) argv.push_back(argument.c_str());
    ::_exit(cli::run_app(cli::all_commands(), static_cast<int>(argv.size()), argv.data()));
  }
  ProgramResult result;
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
  std::fclose(in);
  result.out = contents(out);
  result.err = contents(err);
  return result;
}

}  // namespace indexshare::testing
