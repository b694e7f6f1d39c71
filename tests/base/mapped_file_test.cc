#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "temporary_directory.h"

namespace indexshare {
namespace {

std::string message(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  return file.ok() ? "" : file.error().message;
}

TEST(MappedFile, ShowsTheFilesBytes) {
  const TemporaryDirectory directory;
  const std::string text = std::string(10000, 'x') + '\0' + "end";
  const auto file = MappedFile::open(directory.write("a", text));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->text(), text);
  EXPECT_EQ(file->bytes().size(), text.size());
}

TEST(MappedFile, KeepsItsAddressWhenMoved) {
  const TemporaryDirectory directory;
  auto file = MappedFile::open(directory.write("a", "abc"));
  ASSERT_TRUE(file.ok());
  const auto* data = file->bytes().data();
  MappedFile moved = std::move(*file);
  EXPECT_EQ(moved.bytes().data(), data);
  EXPECT_TRUE(file->bytes().empty());
  auto other = MappedFile::open(directory.write("b", "defg"));
  ASSERT_TRUE(other.ok());
  moved = std::move(*other);
  EXPECT_EQ(moved.text(), "defg");
}

TEST(MappedFile, OutlivesTheRemovalOfItsName) {
  const TemporaryDirectory directory;
  const auto file = MappedFile::open(directory.write("a", "abc"));
  ASSERT_TRUE(file.ok());
  std::filesystem::remove(directory / "a");
  EXPECT_EQ(file->text(), "abc");
}

TEST(MappedFile, SaysWhatIsWrongWithAPath) {
  const TemporaryDirectory directory;
  EXPECT_EQ(message(directory / "none"),
            (directory / "none").string() + ": cannot open: No such file or directory");
  EXPECT_EQ(message(directory.path()), directory.path().string() + ": is a directory, expected a file");
  EXPECT_EQ(message(directory.write("empty", "")), (directory / "empty").string() + ": is empty");
  EXPECT_EQ(message("/dev/null"), "/dev/null: is not a regular file");
}

TEST(MappedFile, DoesNotWaitForTheWriterOfAPipe) {
  const TemporaryDirectory directory;
  ASSERT_EQ(::mkfifo((directory / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(message(directory / "pipe"), (directory / "pipe").string() + ": is not a regular file");
}

TEST(MappedFile, NeedsPermissionToRead) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const TemporaryDirectory directory;
  ::chmod(directory.write("secret", "x").c_str(), 0);
  EXPECT_EQ(message(directory / "secret"),
            (directory / "secret").string() + ": cannot open: Permission denied");
}

}  // namespace
}  // namespace indexshare
