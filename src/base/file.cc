#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/error.h"

namespace indexshare {
namespace {

namespace fs = std::filesystem;

constexpr int kTemporaryNames = 100;  // tried before giving up on a directory full of leftovers

/// A name no other writer of this process uses, nor, as it holds the process id, of another.
fs::path temporary_name(const fs::path& target) {
  static std::atomic<uint64_t> counter = 0;
  fs::path name = target;
  name += fmt::format(".{}-{}.tmp", ::getpid(), counter.fetch_add(1));
  return name;
}

/// Makes the rename itself durable. Some file systems cannot sync a directory, which is no failure.
void sync_directory(const fs::path& directory) {
  const FileDescriptor fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd) ::fsync(fd.get());
}

}  // namespace

Result<std::string> read_file(const fs::path& path, int64_t max_bytes) {
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return make_error(errno_code(), "{}: cannot open: {}", path.string(), errno_text());
  struct stat status = {};
  if (::fstat(fd.get(), &status) != 0)
    return make_error(errno_code(), "{}: cannot stat: {}", path.string(), errno_text());
  if (S_ISDIR(status.st_mode)) return make_error("{}: is a directory, expected a file", path.string());

  // The size may be unknown (pipes, /proc) or change while we read: read until the end, whatever it says.
  const size_t limit = static_cast<size_t>(std::max<int64_t>(max_bytes, 0));
  const size_t expected = std::min(limit, static_cast<size_t>(std::max<off_t>(status.st_size, 0)));
  std::string text(expected + 1, '\0');
  size_t size = 0;
  while (true) {
    const ssize_t count = ::read(fd.get(), text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return make_error(errno_code(), "{}: cannot read: {}", path.string(), errno_text());
    if (count == 0) break;
    size += static_cast<size_t>(count);
    if (size > limit) return make_error("{}: is larger than {} bytes", path.string(), limit);
    if (size == text.size()) text.resize(std::min(2 * size, limit) + 1);
  }
  text.resize(size);
  return text;
}

Result<FileReader> FileReader::open(const fs::path& path) {
  // O_NONBLOCK: opening a named pipe must not wait for its writer.
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return make_error(errno_code(), "{}: cannot open: {}", path.string(), errno_text());
  struct stat status = {};
  if (::fstat(fd.get(), &status) != 0)
    return make_error(errno_code(), "{}: cannot stat: {}", path.string(), errno_text());
  if (S_ISDIR(status.st_mode)) return make_error("{}: is a directory, expected a file", path.string());
  if (!S_ISREG(status.st_mode)) return make_error("{}: is not a regular file", path.string());
  return FileReader(path, std::move(fd), status.st_size);
}

Result<void> FileReader::read(int64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = ::pread(fd_.get(), bytes.data(), bytes.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return make_error(errno_code(), "{}: cannot read: {}", path_.string(), errno_text());
    if (count == 0)
      return make_error("{}: ends at byte {}, {} too early", path_.string(), offset, bytes.size());
    offset += count;
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return {};
}

Result<FileWriter> FileWriter::create(const fs::path& path) {
  std::error_code ignored;
  fs::path target = path;
  if (fs::is_symlink(fs::symlink_status(path, ignored))) {  // replace what it points to, not the link
    std::error_code error;
    target = fs::canonical(path, error);
    if (error) return make_error("{}: cannot follow the link: {}", path.string(), error.message());
  }
  const fs::file_status existing = fs::status(target, ignored);
  if (fs::is_directory(existing)) return make_error("{}: is a directory, expected a file", path.string());
  if (fs::exists(existing) && !fs::is_regular_file(existing)) {
    return make_error("{}: is not a regular file", path.string());
  }

  fs::path temporary;
  FileDescriptor fd;
  for (int i = 0; i < kTemporaryNames && !fd; ++i) {
    temporary = temporary_name(target);
    fd = FileDescriptor(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!fd && errno != EEXIST) break;
  }
  if (!fd)
    return make_error(errno_code(), "{}: cannot create {}: {}", path.string(), temporary.string(),
                      errno_text());
  if (fs::exists(existing)) {  // keep its permissions; where that is not allowed, ours will do
    ::fchmod(fd.get(), static_cast<mode_t>(existing.permissions() & fs::perms::mask));
  }
  return FileWriter(std::move(target), std::move(temporary), std::move(fd));
}

FileWriter::FileWriter(fs::path target, fs::path temporary, FileDescriptor fd)
    : target_(std::move(target)), temporary_(std::move(temporary)), fd_(std::move(fd)) {}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      fd_(std::move(other.fd_)) {}

FileWriter::~FileWriter() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Error FileWriter::failed(std::string_view action) const {
  return make_error(errno_code(), "{}: cannot {}: {}", target_.string(), action, errno_text());
}

Result<void> FileWriter::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed("write");
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return {};
}

Result<void> FileWriter::commit() {
  if (::fsync(fd_.get()) != 0) return failed("write to the disk");
  if (!fd_.close()) return failed("write");
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) return failed("rename the finished file to it");
  temporary_.clear();
  sync_directory(target_.has_parent_path() ? target_.parent_path() : fs::path("."));
  return {};
}

Result<void> write_file(const fs::path& path, std::string_view text) {
  ASSIGN_OR_RETURN(FileWriter writer, FileWriter::create(path));
  RETURN_IF_ERROR(writer.write(text));
  return writer.commit();
}

}  // namespace indexshare
