// Progress of long work on stderr: nothing in the first second; then one line that is written anew on a
// terminal, and a line now and then elsewhere.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace indexshare::cli {

class ProgressLine {
 public:
  /// "reading the prompt", "tokens"
  ProgressLine(std::string what, std::string unit);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// `total` 0: not known.
  void update(int64_t done, int64_t total);

  /// Takes the line off the terminal, so that something else can be written there.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_, unit_;
  bool terminal_;
  Clock::time_point start_;
  Clock::duration next_;  // since the start: when to write again
  bool shown_ = false;
};

/// Says what is waited for, if it takes longer than a second.
class WaitingLine {
 public:
  explicit WaitingLine(std::string what);
  ~WaitingLine();
  WaitingLine(const WaitingLine&) = delete;
  WaitingLine& operator=(const WaitingLine&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_over_ = false;
  bool shown_ = false;
  std::thread thread_;
};

}  // namespace indexshare::cli
