// Files: read with a bound or by offset, written entirely or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/posix.h"
#include "indexshare/result.h"

namespace indexshare {

/// The contents of a file (or pipe) of at most `max_bytes`.
Result<std::string> read_file(const std::filesystem::path& path, int64_t max_bytes);

/// A regular file, read by offset.
class FileReader {
 public:
  static Result<FileReader> open(const std::filesystem::path& path);

  int64_t size() const { return size_; }  // when it was opened

  /// Fills `bytes` from byte `offset` of the file on; fails where the file ends before them.
  Result<void> read(int64_t offset, std::span<std::byte> bytes) const;

 private:
  FileReader(std::filesystem::path path, FileDescriptor fd, int64_t size)
      : path_(std::move(path)), fd_(std::move(fd)), size_(size) {}

  std::filesystem::path path_;
  FileDescriptor fd_;
  int64_t size_;
};

/// Writes a file under a temporary name beside `path` and renames it at commit(), so that a reader, a
/// full disk or a crash never meets half a file. Without a commit the target stays as it was and the
/// temporary file is removed. Unbuffered: give it large pieces.
class FileWriter {
 public:
  static Result<FileWriter> create(const std::filesystem::path& path);

  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&& other) = delete;
  ~FileWriter();

  Result<void> write(std::span<const std::byte> bytes);
  Result<void> write(std::string_view text) { return write(std::as_bytes(std::span(text))); }

  /// Everything is on the disk and under its name once this succeeds.
  Result<void> commit();

 private:
  FileWriter(std::filesystem::path target, std::filesystem::path temporary, FileDescriptor fd);
  Error failed(std::string_view action) const;

  std::filesystem::path target_;
  std::filesystem::path temporary_;  // empty once committed or moved from
  FileDescriptor fd_;
};

Result<void> write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace indexshare
