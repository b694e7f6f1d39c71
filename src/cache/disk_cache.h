// The second tier of the prefix cache: pages that memory has no room for, in files, until prompts begin with
// their tokens again.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "cache/layout.h"
#include "indexshare/result.h"

namespace indexshare {

struct DiskCacheOptions {
  std::filesystem::path directory;  // made where it is missing; of one process at a time
  int64_t budget_bytes = 0;         // of all files; those that were of no use for longest go first
  std::string fingerprint;          // tells apart models whose pages must not be mixed up
  std::function<void(std::string_view sentence)>
      warn;  // of what goes wrong; from the disk's thread; or empty
};

struct DiskCacheStatistics {
  int64_t pages = 0, bytes = 0;  // on the disk
  int64_t read = 0, written = 0;
  int64_t refused = 0;   // damaged or of another model: removed
  int64_t not_kept = 0;  // the disk was too slow, or failed
};

/// Full pages of any sequences, each a file under a name made of its tokens and all before them. A thread of
/// its own reads and writes; all members may be called from any thread. A process that is killed leaves whole
/// files: the next one goes on with them.
class DiskCache {
 public:
  /// Takes stock of the directory, and removes what is beyond the budget.
  static Result<std::unique_ptr<DiskCache>> open(DiskCacheOptions options, CacheLayout layout);

  /// Writes what is still to be written. Reads that were not begun are not answered any more.
  ~DiskCache();
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;

  /// How many pages of a sequence are here, one after the other from page `first` on.
  int64_t find(std::span<const int32_t> tokens, int64_t first) const;

  /// Copies the last page of `tokens`, a whole number of pages, to be written soon, unless it is here.
  /// `wait`: for the disk, where too much waits to be written already; otherwise that page is not kept.
  void write(std::span<const int32_t> tokens, std::span<const std::byte> page, bool wait = false);

  /// Reads the last pages.size() pages of `tokens` into `pages`, which must stay. `done(count)` is called on
  /// the disk's thread: the first `count` of them could be read.
  void read(std::vector<int32_t> tokens, std::vector<std::span<std::byte>> pages,
            std::function<void(int64_t count)> done);

  /// Pages that the budget has room for.
  int64_t max_pages() const;

  DiskCacheStatistics statistics() const;

 private:
  using Key = uint64_t;
  struct Entry {
    int64_t bytes = 0;
    std::list<Key>::iterator use;
  };
  struct Write {
    Key key;
    std::vector<int32_t> tokens;
    std::vector<std::byte> page;
  };
  struct Read {
    std::vector<int32_t> tokens;
    std::vector<std::span<std::byte>> pages;
    std::function<void(int64_t)> done;
  };

  DiskCache(DiskCacheOptions options, CacheLayout layout);
  Result<void> take_stock();
  std::vector<Key> keys(std::span<const int32_t> tokens) const;
  std::filesystem::path path_of(Key key) const;
  std::string head(std::span<const int32_t> tokens) const;
  void warn(const Error& error) const;

  void work();
  void do_read(const Read& read);
  void do_write(const Write& write);
  bool read_one(Key key, std::span<const int32_t> tokens, std::span<std::byte> page);

  // With the mutex held.
  void add(Key key, int64_t bytes);
  void use(Key key);
  void forget(Key key);
  void make_room(int64_t bytes);

  DiskCacheOptions options_;
  CacheLayout layout_;
  Key root_;              // of no tokens
  bool failing_ = false;  // the last write failed; of the disk's thread

  mutable std::mutex mutex_;  // of all below
  std::condition_variable changed_, written_;
  std::unordered_map<Key, Entry> entries_;
  std::list<Key> by_use_;  // the latest last
  std::deque<Read> reads_;
  std::deque<Write> writes_;
  DiskCacheStatistics statistics_;
  bool closing_ = false;

  std::thread thread_;  // last, as it begins at once
};

}  // namespace indexshare
