// A temporary file that is written at any place and then read from its beginning: what arrives in one order
// and is wanted in another need not be held in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "base/function_ref.h"
#include "base/posix.h"
#include "indexshare/result.h"

namespace indexshare::cli {

class SpoolFile {
 public:
  /// In `directory`, but without a name there, so that nothing of it can be left behind.
  static Result<SpoolFile> create(const std::filesystem::path& directory);

  Result<void> write_at(int64_t offset, std::span<const std::byte> bytes);

  /// Hands the first `size` bytes to `sink`, piece by piece; every byte of them must have been written.
  Result<void> read_all(int64_t size, FunctionRef<Result<void>(std::span<const std::byte> piece)> sink) const;

 private:
  SpoolFile(std::filesystem::path directory, FileDescriptor fd)
      : directory_(std::move(directory)), fd_(std::move(fd)) {}
  Error failed(const char* action) const;

  std::filesystem::path directory_;
  FileDescriptor fd_;
};

}  // namespace indexshare::cli
