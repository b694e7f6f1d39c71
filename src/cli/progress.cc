#include "cli/progress.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "cli/output.h"

namespace indexshare::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kQuiet = 1s;  // work that is done by then is not spoken of
constexpr auto kTerminalStep = 100ms;
constexpr const char* kClearLine = "\r\x1b[K";

}  // namespace

ProgressLine::ProgressLine(std::string what, std::string unit)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      terminal_(stderr_is_terminal()),
      start_(Clock::now()),
      next_(kQuiet) {}

void ProgressLine::update(int64_t done, int64_t total) {
  const Clock::duration elapsed = Clock::now() - start_;
  if (elapsed < next_) return;
  next_ = terminal_ ? elapsed + kTerminalStep : 2 * elapsed;  // elsewhere each pause as long as all before
  const double seconds = std::chrono::duration<double>(elapsed).count();
  std::string text = total > 0 ? fmt::format("{}: {} of {} {}", what_, done, total, unit_)
                               : fmt::format("{}: {} {}", what_, done, unit_);
  if (total > 0 && done > 0) {
    const double left = seconds * static_cast<double>(total - done) / static_cast<double>(done);
    text += fmt::format(", about {:.0f} s left", left);
  }
  print_error(terminal_ ? kClearLine + text : text + "\n");
  shown_ = true;
}

void ProgressLine::clear() {
  if (shown_ && terminal_) print_error(kClearLine);
  shown_ = false;
}

WaitingLine::WaitingLine(std::string what)
    : thread_([this, text = std::move(what)] {
        std::unique_lock lock(mutex_);
        if (ended_.wait_for(lock, kQuiet, [this] { return is_over_; })) return;
        print_error(text + (stderr_is_terminal() ? "" : "\n"));
        shown_ = true;
      }) {}

WaitingLine::~WaitingLine() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  ended_.notify_one();
  thread_.join();
  if (shown_ && stderr_is_terminal()) print_error(kClearLine);
}

}  // namespace indexshare::cli
