#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <utility>

#include "base/error.h"
#include "base/posix.h"

namespace indexshare {

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a named pipe must not wait for its writer.
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return make_error(errno_code(), "{}: cannot open: {}", path.string(), errno_text());
  struct stat status = {};
  if (::fstat(fd.get(), &status) != 0)
    return make_error(errno_code(), "{}: cannot stat: {}", path.string(), errno_text());
  if (S_ISDIR(status.st_mode)) return make_error("{}: is a directory, expected a file", path.string());
  if (!S_ISREG(status.st_mode)) return make_error("{}: is not a regular file", path.string());
  if (status.st_size == 0) return make_error("{}: is empty", path.string());
  const size_t size = static_cast<size_t>(status.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) {
    return make_error(errno_code(), "{}: cannot map {} bytes into memory: {}", path.string(), size,
                      errno_text());
  }
  return MappedFile(static_cast<const std::byte*>(data), size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace indexshare
