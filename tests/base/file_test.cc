#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <utility>

#include "temporary_directory.h"

namespace indexshare {
namespace {

namespace fs = std::filesystem;

/// Lets no file of this process grow beyond `bytes`: what a full disk looks like to a writer.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &saved_);
    const rlimit limit = {bytes, saved_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &saved_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit saved_ = {};
};

TEST(ReadFile, ReadsFilesUpToItsBound) {
  const TemporaryDirectory directory;
  const fs::path path = directory.write("a", "12345");
  const auto text = read_file(path, 5);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, "12345");
  const auto longer = read_file(path, 4);
  ASSERT_FALSE(longer.ok());
  EXPECT_EQ(longer.error().message, path.string() + ": is larger than 4 bytes");
  const auto empty = read_file(directory.write("empty", ""), 0);
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(*empty, "");
}

TEST(ReadFile, ReadsFilesThatDoNotKnowTheirSize) {
  const auto text = read_file("/proc/self/maps", 1 << 20);  // its size reads as 0
  ASSERT_TRUE(text.ok());
  EXPECT_GT(text->size(), 100u);
  EXPECT_FALSE(read_file("/proc/self/maps", 100).ok());
  const auto endless = read_file("/dev/zero", 1 << 20);
  ASSERT_FALSE(endless.ok());
  EXPECT_EQ(endless.error().message, "/dev/zero: is larger than 1048576 bytes");
}

TEST(ReadFile, SaysWhatIsWrongWithAPath) {
  const TemporaryDirectory directory;
  EXPECT_EQ(read_file(directory / "none", 9).error().message,
            (directory / "none").string() + ": cannot open: No such file or directory");
  EXPECT_EQ(read_file(directory / "none", 9).error().code, ErrorCode::not_found);
  EXPECT_EQ(read_file(directory.path(), 9).error().message,
            directory.path().string() + ": is a directory, expected a file");
}

TEST(FileReader, ReadsFromAnyOffsetAndNothingBehindTheEnd) {
  const TemporaryDirectory directory;
  const fs::path path = directory.write("a", "0123456789");
  const auto file = FileReader::open(path);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->size(), 10);
  std::string text(4, '-');
  const auto bytes = std::as_writable_bytes(std::span(text));
  ASSERT_TRUE(file->read(6, bytes).ok());
  EXPECT_EQ(text, "6789");
  ASSERT_TRUE(file->read(1, bytes).ok());
  EXPECT_EQ(text, "1234");
  EXPECT_TRUE(file->read(10, {}).ok());
  EXPECT_EQ(file->read(7, bytes).error().message, path.string() + ": ends at byte 10, 1 too early");
}

TEST(FileReader, SaysWhatIsWrongWithAPath) {
  const TemporaryDirectory directory;
  ASSERT_EQ(::mkfifo((directory / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(FileReader::open(directory / "none").error().message,
            (directory / "none").string() + ": cannot open: No such file or directory");
  EXPECT_EQ(FileReader::open(directory.path()).error().message,
            directory.path().string() + ": is a directory, expected a file");
  EXPECT_EQ(FileReader::open(directory / "pipe").error().message,
            (directory / "pipe").string() + ": is not a regular file");
}

TEST(FileWriter, ReplacesTheTargetAtCommit) {
  const TemporaryDirectory directory;
  directory.write("a", "old");
  auto writer = FileWriter::create(directory / "a");
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->write("new ").ok());
  ASSERT_TRUE(writer->write("text").ok());
  EXPECT_EQ(directory.read("a"), "old");
  ASSERT_TRUE(writer->commit().ok());
  EXPECT_EQ(directory.read("a"), "new text");
  EXPECT_EQ(directory.count(), 1);
}

TEST(FileWriter, LeavesNothingWithoutACommit) {
  const TemporaryDirectory directory;
  directory.write("a", "old");
  {
    auto writer = FileWriter::create(directory / "a");
    ASSERT_TRUE(writer.ok());
    const FileWriter moved = std::move(*writer);
    EXPECT_EQ(directory.count(), 2);
  }
  EXPECT_EQ(directory.read("a"), "old");
  EXPECT_EQ(directory.count(), 1);
}

TEST(FileWriter, LeavesTheTargetAloneWhenTheDiskIsFull) {
  const TemporaryDirectory directory;
  directory.write("a", "old");
  {
    auto writer = FileWriter::create(directory / "a");
    ASSERT_TRUE(writer.ok());
    const FileSizeLimit limit(100000);
    const auto written = writer->write(std::string(200000, 'x'));
    ASSERT_FALSE(written.ok());
    EXPECT_EQ(written.error().message, (directory / "a").string() + ": cannot write: File too large");
    EXPECT_EQ(written.error().code, ErrorCode::io);
  }
  EXPECT_EQ(directory.read("a"), "old");
  EXPECT_EQ(directory.count(), 1);
}

TEST(FileWriter, KeepsPermissionsAndFollowsLinks) {
  const TemporaryDirectory directory;
  directory.write("a", "old");
  ::chmod((directory / "a").c_str(), 0640);
  fs::create_symlink("a", directory / "link");
  ASSERT_TRUE(write_file(directory / "link", "new").ok());
  EXPECT_TRUE(fs::is_symlink(directory / "link"));
  EXPECT_EQ(directory.read("a"), "new");
  struct stat status = {};
  ASSERT_EQ(::stat((directory / "a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0640u);
}

TEST(FileWriter, SaysWhatIsWrongWithAPath) {
  const TemporaryDirectory directory;
  const auto message = [](const fs::path& path) {
    const auto result = write_file(path, "x");
    return result.ok() ? "" : result.error().message;
  };
  EXPECT_EQ(message(directory.path()), directory.path().string() + ": is a directory, expected a file");
  EXPECT_EQ(message("/dev/full"), "/dev/full: is not a regular file");
  const std::string inside_nothing = message(directory / "none" / "a");
  EXPECT_EQ(inside_nothing.find((directory / "none" / "a").string() + ": cannot create "), 0u);
  EXPECT_NE(inside_nothing.find("No such file or directory"), std::string::npos);
  fs::create_symlink("nowhere", directory / "dangling");
  EXPECT_EQ(message(directory / "dangling"),
            (directory / "dangling").string() + ": cannot follow the link: No such file or directory");
}

}  // namespace
}  // namespace indexshare
