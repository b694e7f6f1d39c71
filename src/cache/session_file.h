// Sequences kept in files: a cache and the tokens it is of, to be taken up again bit for bit. Nothing a file
// says is believed before it is checked: it may be damaged, cut short, or of another model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/function_ref.h"
#include "cache/sequence.h"

namespace indexshare {

/// Writes `cache`, whose tokens are `tokens`. `fingerprint`, of at most kMaxFingerprint bytes, tells models
/// apart whose caches must not be mixed up. Page by page, without a copy of the cache; the file is whole on
/// the disk before it takes the place of an older one.
Result<void> save_session(const std::filesystem::path& path, const SequenceCache& cache,
                          std::span<const int32_t> tokens, std::string_view fingerprint);

inline constexpr int64_t kMaxFingerprint = 1024;

/// A session file whose header was read and found sound; the pages are checked as they are read.
class SessionFile {
 public:
  /// Refuses a file that a model with another `fingerprint` saved, or with ids outside the vocabulary.
  static Result<SessionFile> open(const std::filesystem::path& path, std::string_view fingerprint,
                                  int64_t vocab_size);

  std::span<const int32_t> tokens() const { return tokens_; }
  const CacheLayout& layout() const { return layout_; }

  /// The cache of tokens(), in pages of `pool`, whose layout must be that of the file.
  Result<SequenceCache> restore(PagePool& pool) const;

  /// The same where others use the pool meanwhile: it is only touched by what `with_pool` is given to run, a
  /// little at a time, and pages are read and checked beside it.
  Result<SequenceCache> restore(PagePool& pool, FunctionRef<void(FunctionRef<void()>)> with_pool) const;

 private:
  Result<void> check_layout(const CacheLayout& wanted) const;
  Result<void> read_page(int64_t index, std::span<std::byte> page) const;

  SessionFile(std::filesystem::path path, FileReader file, uint64_t checksum, int64_t pages_begin,
              CacheLayout layout, std::vector<int32_t> tokens);

  std::filesystem::path path_;
  FileReader file_;
  uint64_t checksum_;    // of the header; binds the pages to it
  int64_t pages_begin_;  // offset in the file
  CacheLayout layout_;
  std::vector<int32_t> tokens_;
};

}  // namespace indexshare
