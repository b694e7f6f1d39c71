// The file: the head ("IDXPAGE1", the description of model and layout, a zero byte, i32 token ids), the page
// in its stored form (stored_page.h), u64 XXH3 of that, seeded by the checksum of the head. Little-endian.
#include "cache/page_file.h"

#include <bit>
#include <cstring>

#include "base/checksum.h"
#include "base/error.h"
#include "base/file.h"
#include "cache/stored_page.h"

namespace indexshare {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they stand in memory");

constexpr std::string_view kPageMagic = "IDXPAGE1";  // its digit is raised with every change of the format
constexpr int64_t kPageChecksumBytes = sizeof(uint64_t);

uint64_t page_checksum(std::string_view head, std::span<const std::byte> stored) {
  return checksum(stored, checksum(std::as_bytes(std::span(head))));
}

}  // namespace

std::string page_file_head(std::string_view fingerprint, const CacheLayout& layout,
                           std::span<const int32_t> tokens) {
  std::string head =
      fmt::format("{}{}; {} {} {} {} {} ", kPageMagic, fingerprint, dtype_name(layout.dtype),
                  index_keys_name(layout.index_keys), kPageTokens, layout.latent_width, layout.index_width);
  for (const int slot : layout.index_slot) head += slot >= 0 ? 'F' : 'S';
  head += '\0';
  head.append(reinterpret_cast<const char*>(tokens.data()), tokens.size_bytes());
  return head;
}

int64_t page_file_bytes(const CacheLayout& layout, int64_t head_bytes) {
  return head_bytes + stored_page_bytes(layout, kPageTokens) + kPageChecksumBytes;
}

Result<void> write_page_file(const std::filesystem::path& path, std::string_view head,
                             const CacheLayout& layout, std::span<const std::byte> page) {
  const auto stored = page.first(static_cast<size_t>(stored_page_bytes(layout, kPageTokens)));
  const uint64_t sum = page_checksum(head, stored);
  ASSIGN_OR_RETURN(FileWriter file, FileWriter::create(path));
  RETURN_IF_ERROR(file.write(head));
  RETURN_IF_ERROR(file.write(stored));
  RETURN_IF_ERROR(file.write(std::as_bytes(std::span(&sum, 1))));
  return file.commit();
}

Result<void> read_page_file(const std::filesystem::path& path, std::string_view head,
                            const CacheLayout& layout, std::span<std::byte> page) {
  ASSIGN_OR_RETURN(const FileReader file, FileReader::open(path));
  std::string found(head.size(), '\0');
  if (file.size() >= std::ssize(head)) {
    RETURN_IF_ERROR(file.read(0, std::as_writable_bytes(std::span(found))));
  }
  if (found != head) {
    return make_error("{}: is not the page of these tokens under this model and layout", path.string());
  }
  const int64_t bytes = page_file_bytes(layout, std::ssize(head));
  if (file.size() != bytes) {
    return make_error("{}: has {} bytes, expected {}: it is truncated or damaged", path.string(), file.size(),
                      bytes);
  }
  const auto stored = page.first(static_cast<size_t>(stored_page_bytes(layout, kPageTokens)));
  uint64_t sum = 0;
  RETURN_IF_ERROR(file.read(std::ssize(head), stored));
  RETURN_IF_ERROR(file.read(bytes - kPageChecksumBytes, std::as_writable_bytes(std::span(&sum, 1))));
  if (sum != page_checksum(head, stored)) {
    return make_error("{}: is damaged: the checksum of its page does not match", path.string());
  }
  return {};
}

}  // namespace indexshare
