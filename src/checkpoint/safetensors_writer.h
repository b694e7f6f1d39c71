// Writing safetensors files, as a stream and whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/file.h"
#include "indexshare/result.h"

namespace indexshare {

struct TensorDeclaration {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
};

/// Writes a file whose tensors are declared before their bytes are known, so that none has to be held in
/// memory. The bytes follow in declared order; declare wider element types first and each stays aligned.
class SafetensorsWriter {
 public:
  static Result<SafetensorsWriter> create(const std::filesystem::path& path,
                                          std::span<const TensorDeclaration> tensors,
                                          const std::map<std::string, std::string>& metadata = {});

  /// The next bytes of the data, in pieces of any size.
  Result<void> write(std::span<const std::byte> bytes);

  /// Puts the file in its place; fails unless every declared byte was written.
  Result<void> finish();

 private:
  SafetensorsWriter(std::filesystem::path path, FileWriter file, int64_t remaining);

  std::filesystem::path path_;
  FileWriter file_;
  int64_t remaining_;  // bytes declared and not yet written
};

}  // namespace indexshare
