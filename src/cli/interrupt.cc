#include "cli/interrupt.h"

#include <csignal>

namespace indexshare::cli {
namespace {

// A signal handler has nowhere else to write to.
volatile std::sig_atomic_t stop_requested = 0;

void request_stop(int) {
  stop_requested = 1;
}

void install(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // the next one kills
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

Interrupt::Interrupt() {
  stop_requested = 0;
  install(request_stop);
}

Interrupt::~Interrupt() {
  install(SIG_DFL);
}

bool Interrupt::requested() const {
  return stop_requested != 0;
}

}  // namespace indexshare::cli
