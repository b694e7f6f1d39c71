// Ctrl-C: the first one asks the program to stop after the current step, the second one kills it.
#pragma once

namespace indexshare::cli {

/// While one of these lives, the first SIGINT or SIGTERM only sets a flag. One at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool requested() const;
};

}  // namespace indexshare::cli
