// The safetensors file format: an 8-byte little-endian header length, a JSON header, the tensors' bytes.
// Everything a header says is checked against the file before a tensor can be reached.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/mapped_file.h"
#include "indexshare/result.h"

namespace indexshare {

inline constexpr std::string_view kSafetensorsMetadata = "__metadata__";  // the name no tensor may have

/// A tensor as stored; `bytes` belongs to the file and may start at any address.
struct StoredTensor {
  std::string_view dtype;  // as files spell it: "BF16", "F8_E4M3", "I64", ...
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};

/// The element type of a spelling, for those this program computes with.
std::optional<DType> dtype_from_safetensors(std::string_view name);
std::string_view dtype_to_safetensors(DType dtype);

/// Bytes of a tensor of `bits` per value; nothing where that overflows or ends within a byte.
std::optional<int64_t> tensor_bytes(std::span<const int64_t> shape, int64_t bits);

/// "[3, 4]"
std::string shape_text(std::span<const int64_t> shape);

class SafetensorsFile {
 public:
  using Tensors = std::map<std::string, StoredTensor, std::less<>>;

  static Result<SafetensorsFile> open(const std::filesystem::path& path);

  /// As open(), of bytes in memory that outlive the result; `source` names them in errors.
  static Result<SafetensorsFile> parse(std::span<const std::byte> bytes, std::string_view source);

  const Tensors& tensors() const { return tensors_; }
  const StoredTensor* find(std::string_view name) const;
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  MappedFile file_;
  Tensors tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace indexshare
