// Any bytes as a safetensors file: each tensor that is found lies within them and has the size it claims.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "checkpoint/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace indexshare;
  const std::span bytes = std::as_bytes(std::span(data, size));
  const auto file = SafetensorsFile::parse(bytes, "fuzz");
  if (!file.ok()) {
    if (!file.error().message.starts_with("fuzz: ")) std::abort();
    return 0;
  }
  size_t total = 0;
  for (const auto& [name, tensor] : file->tensors()) {
    total += tensor.bytes.size();
    if (tensor.bytes.data() < bytes.data() ||
        tensor.bytes.data() + tensor.bytes.size() > bytes.data() + bytes.size()) {
      std::abort();
    }
    const auto dtype = dtype_from_safetensors(tensor.dtype);
    if (dtype && tensor_bytes(tensor.shape, 8 * dtype_bytes(*dtype)) != std::ssize(tensor.bytes))
      std::abort();
  }
  if (total > size) std::abort();  // tensors do not overlap
  return 0;
}
