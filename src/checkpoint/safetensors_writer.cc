#include "checkpoint/safetensors_writer.h"

#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "checkpoint/safetensors.h"

namespace indexshare {
namespace {

constexpr size_t kAlignment = 8;  // of the data within the file: the header is padded with spaces

/// Appended piece by piece: an ordered JSON object would search all names for each new one.
std::string entry_text(const TensorDeclaration& tensor, int64_t begin, int64_t end) {
  return fmt::format(R"({}:{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})", dump_json(tensor.name),
                     dtype_to_safetensors(tensor.dtype), shape_text(tensor.shape), begin, end);
}

}  // namespace

Result<SafetensorsWriter> SafetensorsWriter::create(const std::filesystem::path& path,
                                                    std::span<const TensorDeclaration> tensors,
                                                    const std::map<std::string, std::string>& metadata) {
  std::string header = "{";
  if (!metadata.empty()) header += fmt::format(R"("{}":{})", kSafetensorsMetadata, dump_json(metadata));
  std::set<std::string_view> names = {kSafetensorsMetadata};
  int64_t end = 0;
  for (const TensorDeclaration& tensor : tensors) {
    const std::optional<int64_t> bytes = tensor_bytes(tensor.shape, 8 * dtype_bytes(tensor.dtype));
    const int64_t begin = end;
    if (!bytes || __builtin_add_overflow(begin, *bytes, &end)) {
      return make_error("{}: tensor {} has the impossible shape {}", path.string(), tensor.name,
                        shape_text(tensor.shape));
    }
    if (!names.insert(tensor.name).second) {
      return make_error("{}: the tensor name {} is taken", path.string(), tensor.name);
    }
    if (header.size() > 1) header += ',';
    header += entry_text(tensor, begin, end);
  }
  header += '}';
  header.resize((header.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');

  ASSIGN_OR_RETURN(FileWriter file, FileWriter::create(path));
  std::array<std::byte, 8> length;
  for (size_t i = 0; i < length.size(); ++i) length[i] = static_cast<std::byte>(header.size() >> (8 * i));
  RETURN_IF_ERROR(file.write(length));
  RETURN_IF_ERROR(file.write(header));
  return SafetensorsWriter(path, std::move(file), end);
}

SafetensorsWriter::SafetensorsWriter(std::filesystem::path path, FileWriter file, int64_t remaining)
    : path_(std::move(path)), file_(std::move(file)), remaining_(remaining) {}

Result<void> SafetensorsWriter::write(std::span<const std::byte> bytes) {
  if (std::ssize(bytes) > remaining_) {
    return make_error("{}: {} bytes more than the declared tensors take", path_.string(),
                      std::ssize(bytes) - remaining_);
  }
  RETURN_IF_ERROR(file_.write(bytes));
  remaining_ -= std::ssize(bytes);
  return {};
}

Result<void> SafetensorsWriter::finish() {
  if (remaining_ != 0) {
    return make_error("{}: {} bytes of the declared tensors were not written", path_.string(), remaining_);
  }
  return file_.commit();
}

}  // namespace indexshare
