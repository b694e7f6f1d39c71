// A file mapped into memory for reading.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include "indexshare/result.h"

namespace indexshare {

/// The mapping stays valid, at the same address, while the object or what it was moved into lives.
/// A file that another program shortens meanwhile cannot be guarded against: touching the lost pages
/// ends the process (SIGBUS), as it does for every program that maps files.
class MappedFile {
 public:
  /// Fails on anything but a readable regular file of at least one byte.
  static Result<MappedFile> open(const std::filesystem::path& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  MappedFile(const std::byte* data, size_t size) : data_(data), size_(size) {}

  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace indexshare
