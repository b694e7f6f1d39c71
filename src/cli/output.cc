#include "cli/output.h"

#include <poll.h>
#include <unistd.h>

#include "base/error.h"
#include "base/posix.h"

namespace indexshare::cli {
namespace {

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    text.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

}  // namespace

Result<ExitCode> print(std::string_view text) {
  if (!write_all(STDOUT_FILENO, text)) {
    return make_error("cannot write to the standard output: {}", errno_text());
  }
  return ExitCode::done;
}

void print_error(std::string_view text) {
  write_all(STDERR_FILENO, text);
}

bool reader_left() {
  pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  return ::poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

bool stdout_is_terminal() {
  return ::isatty(STDOUT_FILENO) == 1;
}

bool stderr_is_terminal() {
  return ::isatty(STDERR_FILENO) == 1;
}

bool stdin_is_terminal() {
  return ::isatty(STDIN_FILENO) == 1;
}

}  // namespace indexshare::cli
