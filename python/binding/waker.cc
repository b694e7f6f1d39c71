#include "waker.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "base/error.h"
#include "base/posix.h"
#include "errors.h"

namespace indexshare::python {

Waker::Waker() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (fd_ < 0) raise(make_error(ErrorCode::io, "cannot make an event descriptor: {}", errno_text()));
}

Waker::~Waker() {
  ::close(fd_);
}

void Waker::wake() const {
  const uint64_t one = 1;
  (void)!::write(fd_, &one, sizeof(one));  // fails only where it is full, and readable, already
}

void Waker::clear() const {
  uint64_t count = 0;
  (void)!::read(fd_, &count, sizeof(count));  // fails only where it is clear already
}

}  // namespace indexshare::python
