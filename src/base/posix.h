// What the sources that call the operating system share: a closing file descriptor, errno in words.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "indexshare/result.h"

namespace indexshare {

/// Owns a file descriptor.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~FileDescriptor() { close(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

  /// False where the operating system reports a late write error; the descriptor is closed all the same.
  bool close() {
    const int fd = std::exchange(fd_, -1);
    return fd < 0 || ::close(fd) == 0;
  }

 private:
  int fd_ = -1;
};

/// The last failed call's errno in words ("No such file or directory").
inline std::string errno_text() {
  return std::generic_category().message(errno);
}

/// The kind of error that it is.
inline ErrorCode errno_code() {
  return errno == ENOENT || errno == ENOTDIR ? ErrorCode::not_found : ErrorCode::io;
}

}  // namespace indexshare
