#include "checkpoint/fingerprint.h"

#include <algorithm>

#include "base/checksum.h"
#include "base/error.h"
#include "base/file.h"

namespace indexshare {
namespace {

constexpr int64_t kMaxConfigBytes = int64_t{16} << 20;
constexpr size_t kSample = 256;  // bytes

uint64_t add_text(std::string_view text, uint64_t sum) {
  return checksum(std::as_bytes(std::span(text)), sum);
}

}  // namespace

Result<std::string> fingerprint(const Checkpoint& checkpoint) {
  ASSIGN_OR_RETURN(const std::string config,
                   read_file(checkpoint.directory() / "config.json", kMaxConfigBytes));
  uint64_t sum = add_text(config, 0);
  for (const auto& [name, tensor] : checkpoint.tensors()) {
    sum = add_text(fmt::format("{} {} {}", name, tensor->dtype, shape_text(tensor->shape)), sum);
    if (name.find(".experts.") != std::string_view::npos) continue;
    sum = checksum(tensor->bytes.first(std::min(kSample, tensor->bytes.size())), sum);
  }
  return fmt::format("{:016x}", sum);
}

}  // namespace indexshare
