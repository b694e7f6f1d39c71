// Wakes whoever sleeps in an event loop: a file descriptor that becomes readable.
#pragma once

namespace indexshare::python {

/// All members may be called from any thread.
class Waker {
 public:
  Waker();  // raises OSError; needs the GIL
  ~Waker();
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;

  int fileno() const { return fd_; }
  void wake() const;
  /// Not readable until the next wake().
  void clear() const;

 private:
  int fd_;
};

}  // namespace indexshare::python
