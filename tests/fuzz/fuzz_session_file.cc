// Any bytes as a session file, as they are and with the checksum of the header made right, which lets damage
// through to what is checked behind it: refused with the file's name, or restored as the tokens and the
// layout say.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "cache/session_file.h"

namespace {

using namespace indexshare;

constexpr size_t kBodySize = 12, kBodyChecksum = 16, kBody = 24;  // offsets in the file
constexpr int64_t kVocab = 300;

/// A file in memory.
class MemoryFile {
 public:
  explicit MemoryFile(const std::vector<uint8_t>& bytes) : fd_(::memfd_create("session", 0)) {
    if (!fd_) std::abort();
    if (::write(fd_.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_.get()); }

 private:
  FileDescriptor fd_;
};

void try_restore(const std::vector<uint8_t>& bytes) {
  const MemoryFile file(bytes);
  const auto session = SessionFile::open(file.path(), "model", kVocab);
  if (!session.ok()) {
    if (!session.error().message.starts_with(file.path() + ": ")) std::abort();
    return;
  }
  for (const int32_t id : session->tokens()) {
    if (id < 0 || id >= kVocab) std::abort();
  }
  const CacheLayout& found = session->layout();
  if (found.page_bytes > 1 << 24) return;
  PagePool pool(found, 1 << 26);
  const auto cache = session->restore(pool);
  if (cache.ok() && cache->length() != std::ssize(session->tokens())) std::abort();
  if (!cache.ok() && !cache.error().message.starts_with(file.path() + ": ")) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<uint8_t> bytes(data, data + size);
  try_restore(bytes);
  if (size < kBody) return 0;
  uint32_t body = 0;
  std::memcpy(&body, bytes.data() + kBodySize, sizeof(body));
  const auto covered = std::as_bytes(std::span(bytes)).subspan(kBody, std::min<size_t>(body, size - kBody));
  const uint64_t sum = checksum(covered);
  std::memcpy(bytes.data() + kBodyChecksum, &sum, sizeof(sum));
  try_restore(bytes);
  return 0;
}
