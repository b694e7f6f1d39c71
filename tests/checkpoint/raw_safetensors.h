// Safetensors files as a test wants them, also wrong ones: written without the code under test.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace indexshare {

struct RawTensor {
  std::string name;
  std::string dtype;  // as it stands in the header
  std::vector<int64_t> shape;
  std::string bytes;
};

/// A file's bytes: the header's length, the header, the data.
inline std::string raw_file(std::string_view header, std::string_view data) {
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(header.size() >> (8 * i));
  file += header;
  file += data;
  return file;
}

/// A valid file of these tensors; one space in the header shifts all data by a byte (`unaligned`).
inline std::string raw_file(const std::vector<RawTensor>& tensors, bool unaligned = false) {
  std::string header = "{";
  std::string data;
  for (const RawTensor& tensor : tensors) {
    if (header.size() > 1) header += ',';
    header += '"' + tensor.name + R"(":{"dtype":")" + tensor.dtype + R"(","shape":[)";
    for (size_t i = 0; i < tensor.shape.size(); ++i)
      header += (i > 0 ? "," : "") + std::to_string(tensor.shape[i]);
    header += R"(],"data_offsets":[)" + std::to_string(data.size()) + ',';
    data += tensor.bytes;
    header += std::to_string(data.size()) + "]}";
  }
  header += '}';
  while (header.size() % 8 != (unaligned ? 1 : 0)) header += ' ';
  return raw_file(header, data);
}

}  // namespace indexshare
