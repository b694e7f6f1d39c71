// Any bytes as a page of the cache on the disk: as a whole file, and behind the head that is expected, with
// or without the checksum that they need. Refused with the file's name, or exactly the bytes that were given.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "base/posix.h"
#include "cache/page_file.h"
#include "cache/stored_page.h"

namespace {

using namespace indexshare;

/// Whether `bytes` are taken; then `page` holds what stands in them.
bool is_read(const std::string& bytes, const std::string& head, const CacheLayout& layout,
             std::vector<std::byte>& page) {
  const FileDescriptor fd(::memfd_create("page", 0));
  if (!fd || ::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    std::abort();
  const std::string path = "/proc/self/fd/" + std::to_string(fd.get());
  const Result<void> result = read_page_file(path, head, layout, page);
  if (!result.ok() && !result.error().message.starts_with(path + ": ")) std::abort();
  if (result.ok() && std::memcmp(page.data(), bytes.data() + head.size(), page.size()) != 0) std::abort();
  return result.ok();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const CacheLayout layout(DType::bf16, 1, 1, {true});
  const std::vector<int32_t> tokens(kPageTokens, 7);
  const std::string head = page_file_head("model", layout, tokens);
  std::vector<std::byte> page(static_cast<size_t>(stored_page_bytes(layout, kPageTokens)));
  std::string bytes(reinterpret_cast<const char*>(data), size);
  is_read(bytes, head, layout, page);
  bytes.insert(0, head);
  is_read(bytes, head, layout, page);
  // Filled up to a page, and made right.
  bytes.resize(head.size() + page.size());
  const auto stored = std::as_bytes(std::span(bytes)).subspan(head.size());
  const uint64_t sum = checksum(stored, checksum(std::as_bytes(std::span(head))));
  bytes.append(reinterpret_cast<const char*>(&sum), sizeof(sum));
  if (!is_read(bytes, head, layout, page)) std::abort();
  return 0;
}
