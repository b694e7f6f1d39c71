// Reads the .xz files of shared reference data in tests; needs liblzma (link PkgConfig::LZMA).
#pragma once

#include <lzma.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace indexshare::testing {

/// The unpacked bytes of an .xz file, or nullopt where it cannot be read or is damaged.
inline std::optional<std::string> read_xz(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  const std::string packed{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};

  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, std::numeric_limits<uint64_t>::max(), LZMA_CONCATENATED) != LZMA_OK) {
    return std::nullopt;
  }
  std::string unpacked;
  std::vector<char> chunk(1 << 16);
  stream.next_in = reinterpret_cast<const uint8_t*>(packed.data());
  stream.avail_in = packed.size();
  lzma_ret status = LZMA_OK;
  while (status == LZMA_OK) {
    stream.next_out = reinterpret_cast<uint8_t*>(chunk.data());
    stream.avail_out = chunk.size();
    status = lzma_code(&stream, LZMA_FINISH);
    unpacked.append(chunk.data(), chunk.size() - stream.avail_out);
  }
  lzma_end(&stream);
  if (status != LZMA_STREAM_END) return std::nullopt;
  return unpacked;
}

/// The lines of an .xz text file, without their ends.
inline std::optional<std::vector<std::string>> read_xz_lines(const std::filesystem::path& path) {
  const std::optional<std::string> text = read_xz(path);
  if (!text) return std::nullopt;
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text->size();) {
    const size_t end = std::min(text->find('\n', begin), text->size());
    lines.push_back(text->substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace indexshare::testing
