#include "cli/spool_file.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/error.h"

namespace indexshare::cli {
namespace {

constexpr int64_t kPieceBytes = 1 << 20;

}  // namespace

Result<SpoolFile> SpoolFile::create(const std::filesystem::path& directory) {
  std::string name = (directory / "indexshare-XXXXXX").string();
  FileDescriptor fd(::mkstemp(name.data()));
  if (!fd) return make_error("{}: cannot create a temporary file: {}", directory.string(), errno_text());
  ::unlink(name.c_str());
  return SpoolFile(directory, std::move(fd));
}

Error SpoolFile::failed(const char* action) const {
  return make_error("{}: cannot {} a temporary file: {}", directory_.string(), action, errno_text());
}

Result<void> SpoolFile::write_at(int64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(fd_.get(), bytes.data(), bytes.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed("write");
    bytes = bytes.subspan(static_cast<size_t>(count));
    offset += count;
  }
  return {};
}

Result<void> SpoolFile::read_all(int64_t size,
                                 FunctionRef<Result<void>(std::span<const std::byte> piece)> sink) const {
  std::vector<std::byte> piece(static_cast<size_t>(std::min(size, kPieceBytes)));
  for (int64_t done = 0; done < size;) {
    const auto wanted = static_cast<size_t>(std::min(size - done, kPieceBytes));
    const ssize_t count = ::pread(fd_.get(), piece.data(), wanted, done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed("read");
    if (count == 0) return make_error("{}: a temporary file ends too early", directory_.string());
    RETURN_IF_ERROR(sink(std::span(piece).first(static_cast<size_t>(count))));
    done += count;
  }
  return {};
}

}  // namespace indexshare::cli
