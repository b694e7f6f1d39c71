#include "cli/disk_speed.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/posix.h"
#include "base/thread_pool.h"

namespace indexshare::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kReaders = 4;  // enough requests at a time for disks that need several
constexpr int64_t kBlock = int64_t{4} << 20;
constexpr int64_t kPage = 4096;  // what O_DIRECT wants all to be a multiple of
constexpr int64_t kTemporaryBytes = int64_t{256} << 20;
constexpr int64_t kMostBytes = int64_t{2} << 30;
constexpr double kMostSeconds = 3;

struct Free {
  void operator()(std::byte* p) const { std::free(p); }
};
using Block = std::unique_ptr<std::byte, Free>;

Block make_block() {
  return Block(static_cast<std::byte*>(std::aligned_alloc(kPage, static_cast<size_t>(kBlock))));
}

// A file that is removed at the end, of values that no disk can make smaller.
class TemporaryFile {
 public:
  static Result<TemporaryFile> create() {
    std::error_code error;
    const fs::path directory = fs::temp_directory_path(error);
    if (error) return make_error("no directory for a temporary file: {}", error.message());
    TemporaryFile file;
    file.path_ = (directory / "indexshare-XXXXXX").string();
    const FileDescriptor fd(::mkostemp(file.path_.data(), O_CLOEXEC));
    if (!fd) {
      const std::string name = std::exchange(file.path_, {});
      return make_error("{}: cannot create a temporary file: {}", name, errno_text());
    }
    const Block block = make_block();
    if (block == nullptr) return make_error("no memory for a block of {} bytes", kBlock);
    std::mt19937_64 generator(5);
    const std::span words(reinterpret_cast<uint64_t*>(block.get()), kBlock / sizeof(uint64_t));
    for (int64_t written = 0; written < kTemporaryBytes;) {
      if (written % kBlock == 0) std::generate(words.begin(), words.end(), generator);
      const int64_t from = written % kBlock;
      const ssize_t count = ::write(fd.get(), block.get() + from, static_cast<size_t>(kBlock - from));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return make_error("{}: cannot write: {}", file.path_, errno_text());
      written += count;
    }
    if (::fsync(fd.get()) != 0)
      return make_error("{}: cannot write to the disk: {}", file.path_, errno_text());
    return file;
  }

  TemporaryFile(TemporaryFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  const std::string& path() const { return path_; }

 private:
  TemporaryFile() = default;
  std::string path_;
};

// Reads block after block on several threads, until the file or the time is over.
Result<void> read_blocks(const std::string& path, int fd, int64_t bytes, DiskSpeed& speed) {
  std::vector<Block> blocks;
  for (int i = 0; i < kReaders; ++i) blocks.push_back(make_block());
  for (const Block& block : blocks) {
    if (block == nullptr) return make_error("no memory for a block of {} bytes", kBlock);
  }
  std::atomic<int64_t> total{0};
  std::atomic<int> failure{0};
  const auto start = std::chrono::steady_clock::now();
  auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  ThreadPool pool(kReaders);
  pool.run((bytes + kBlock - 1) / kBlock, [&](int64_t item, int worker) {
    if (failure != 0 || elapsed() > kMostSeconds) return;
    const ssize_t count =
        ::pread(fd, blocks[static_cast<size_t>(worker)].get(), static_cast<size_t>(kBlock), item * kBlock);
    if (count < 0) failure = errno;
    if (count > 0) total += count;
  });
  const double seconds = elapsed();
  if (failure != 0) {
    return make_error("{}: cannot read: {}", path, std::generic_category().message(failure));
  }
  speed.bytes = total;
  speed.bytes_per_second = static_cast<double>(total) / seconds;
  return {};
}

}  // namespace

Result<DiskSpeed> measure_disk(const std::string& path) {
  if (path.empty()) {
    ASSIGN_OR_RETURN(const TemporaryFile file, TemporaryFile::create());
    ASSIGN_OR_RETURN(DiskSpeed speed, measure_disk(file.path()));
    speed.what = fmt::format("a temporary file in {}{}", fs::path(file.path()).parent_path().string(),
                             speed.what.substr(file.path().size()));
    return speed;
  }
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT));
  const bool direct = static_cast<bool>(fd);
  if (!fd) fd = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));  // not every file system has it
  if (!fd) return make_error("{}: cannot open: {}", path, errno_text());
  struct stat status = {};
  if (::fstat(fd.get(), &status) != 0) return make_error("{}: cannot stat: {}", path, errno_text());
  if (!S_ISREG(status.st_mode) || status.st_size == 0) {
    return make_error("{}: expected a regular file that is not empty", path);
  }
  if (!direct) ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
  DiskSpeed speed;
  speed.what = path + (direct ? ", past the page cache" : ", through the page cache");
  RETURN_IF_ERROR(read_blocks(path, fd.get(), std::min<int64_t>(status.st_size, kMostBytes), speed));
  return speed;
}

}  // namespace indexshare::cli
