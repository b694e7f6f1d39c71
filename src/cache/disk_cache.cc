#include "cache/disk_cache.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>

#include "base/checksum.h"
#include "base/error.h"
#include "cache/page_file.h"

namespace indexshare {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".page";
constexpr size_t kKeyDigits = 16;
constexpr int64_t kMaxQueuedBytes = int64_t{64} << 20;  // of pages that wait to be written, or one page
constexpr size_t kPage = static_cast<size_t>(kPageTokens);

std::span<const int32_t> page_of(std::span<const int32_t> tokens, size_t index) {
  return tokens.subspan(index * kPage, kPage);
}

uint64_t checksum_of(std::string_view text) {
  return checksum(std::as_bytes(std::span(text)));
}

// The key that a file of the cache is named by; nothing for other files.
std::optional<uint64_t> key_of(std::string_view name) {
  if (name.size() != kKeyDigits + kSuffix.size() || !name.ends_with(kSuffix)) return std::nullopt;
  uint64_t key = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + kKeyDigits, key, 16);
  if (error != std::errc() || end != name.data() + kKeyDigits) return std::nullopt;
  return key;
}

// What a writer that was killed leaves behind.
bool is_unfinished(std::string_view name) {
  return name.size() > kKeyDigits && name.substr(kKeyDigits).starts_with(kSuffix) && name.ends_with(".tmp");
}

}  // namespace

Result<std::unique_ptr<DiskCache>> DiskCache::open(DiskCacheOptions options, CacheLayout layout) {
  auto cache = std::unique_ptr<DiskCache>(new DiskCache(std::move(options), std::move(layout)));
  RETURN_IF_ERROR(cache->take_stock());
  cache->thread_ = std::thread([cache = cache.get()] { cache->work(); });
  return cache;
}

DiskCache::DiskCache(DiskCacheOptions options, CacheLayout layout)
    : options_(std::move(options)), layout_(std::move(layout)), root_(checksum_of(head({}))) {}

DiskCache::~DiskCache() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

Result<void> DiskCache::take_stock() {
  std::error_code error;
  fs::create_directories(options_.directory, error);
  if (error) {
    return make_error(ErrorCode::io, "{}: cannot be made: {}", options_.directory.string(), error.message());
  }
  struct Found {
    fs::file_time_type time;
    Key key;
    int64_t bytes;
  };
  std::vector<Found> found;
  fs::directory_iterator at(options_.directory, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    std::error_code gone;  // files may go while we look
    const std::string name = at->path().filename().string();
    if (is_unfinished(name)) fs::remove(at->path(), gone);
    const std::optional<Key> key = key_of(name);
    if (!key || !at->is_regular_file(gone)) continue;
    const auto bytes = static_cast<int64_t>(at->file_size(gone));
    const auto time = at->last_write_time(gone);
    if (!gone) found.push_back({time, *key, bytes});
  }
  if (error) {
    return make_error(ErrorCode::io, "{}: cannot be read: {}", options_.directory.string(), error.message());
  }
  std::ranges::sort(found, {}, &Found::time);
  const std::lock_guard lock(mutex_);
  for (const Found& file : found) add(file.key, file.bytes);
  make_room(0);
  return {};
}

// Each page's key is made of its tokens and the key before. Two sequences may share one, rarely: the head of
// the file tells them apart.
std::vector<DiskCache::Key> DiskCache::keys(std::span<const int32_t> tokens) const {
  std::vector<Key> keys(tokens.size() / kPage);
  Key before = root_;
  for (size_t i = 0; i < keys.size(); ++i) {
    before = keys[i] = checksum(std::as_bytes(page_of(tokens, i)), before);
  }
  return keys;
}

fs::path DiskCache::path_of(Key key) const {
  return options_.directory / fmt::format("{:016x}{}", key, kSuffix);
}

std::string DiskCache::head(std::span<const int32_t> tokens) const {
  return page_file_head(options_.fingerprint, layout_, tokens);
}

void DiskCache::warn(const Error& error) const {
  if (options_.warn) options_.warn(error.message);
}

void DiskCache::add(Key key, int64_t bytes) {
  if (entries_.contains(key)) return use(key);
  entries_[key] = {.bytes = bytes, .use = by_use_.insert(by_use_.end(), key)};
  ++statistics_.pages;
  statistics_.bytes += bytes;
}

void DiskCache::use(Key key) {
  if (const auto found = entries_.find(key); found != entries_.end()) {
    by_use_.splice(by_use_.end(), by_use_, found->second.use);
  }
}

void DiskCache::forget(Key key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  --statistics_.pages;
  statistics_.bytes -= found->second.bytes;
  by_use_.erase(found->second.use);
  entries_.erase(found);
  std::error_code ignored;
  fs::remove(path_of(key), ignored);
}

void DiskCache::make_room(int64_t bytes) {
  while (!by_use_.empty() && statistics_.bytes + bytes > options_.budget_bytes) forget(by_use_.front());
}

int64_t DiskCache::max_pages() const {
  return options_.budget_bytes / page_file_bytes(layout_, 0);
}

DiskCacheStatistics DiskCache::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

int64_t DiskCache::find(std::span<const int32_t> tokens, int64_t first) const {
  const std::vector<Key> all = keys(tokens);
  const std::lock_guard lock(mutex_);
  int64_t count = 0;
  while (first + count < std::ssize(all) && entries_.contains(all[static_cast<size_t>(first + count)])) {
    ++count;
  }
  return count;
}

void DiskCache::write(std::span<const int32_t> tokens, std::span<const std::byte> page, bool wait) {
  const Key key = keys(tokens).back();
  const int64_t room = std::max<int64_t>(1, kMaxQueuedBytes / layout_.page_bytes);
  {
    std::unique_lock lock(mutex_);
    if (entries_.contains(key)) return use(key);
    if (wait) written_.wait(lock, [&] { return std::ssize(writes_) < room; });
    if (std::ssize(writes_) >= room) {
      ++statistics_.not_kept;
      return;
    }
    writes_.push_back({key, {tokens.begin(), tokens.end()}, {page.begin(), page.end()}});
  }
  changed_.notify_one();
}

void DiskCache::read(std::vector<int32_t> tokens, std::vector<std::span<std::byte>> pages,
                     std::function<void(int64_t)> done) {
  {
    const std::lock_guard lock(mutex_);
    reads_.push_back({std::move(tokens), std::move(pages), std::move(done)});
  }
  changed_.notify_one();
}

void DiskCache::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return closing_ || !reads_.empty() || !writes_.empty(); });
    if (!reads_.empty() && !closing_) {  // somebody waits for these
      const Read read = std::move(reads_.front());
      reads_.pop_front();
      lock.unlock();
      do_read(read);
      lock.lock();
    } else if (!writes_.empty()) {
      const Write write = std::move(writes_.front());
      writes_.pop_front();
      lock.unlock();
      written_.notify_all();
      do_write(write);
      lock.lock();
    } else {
      return;
    }
  }
}

void DiskCache::do_read(const Read& read) {
  const std::vector<Key> all = keys(read.tokens);
  const size_t first = all.size() - read.pages.size();
  size_t count = 0;
  while (count < read.pages.size() &&
         read_one(all[first + count], std::span(read.tokens).first((first + count + 1) * kPage),
                  read.pages[count])) {
    ++count;
  }
  read.done(static_cast<int64_t>(count));
}

bool DiskCache::read_one(Key key, std::span<const int32_t> tokens, std::span<std::byte> page) {
  const fs::path path = path_of(key);
  const Result<void> result = read_page_file(path, head(tokens), layout_, page);
  std::error_code ignored;
  if (result.ok()) fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
  if (!result.ok() && result.error().code != ErrorCode::not_found) {
    warn(make_error("{}; it is removed", result.error().message));
  }
  const std::lock_guard lock(mutex_);
  if (!result.ok()) {
    statistics_.refused += result.error().code != ErrorCode::not_found;
    forget(key);
    return false;
  }
  ++statistics_.read;
  use(key);
  return true;
}

void DiskCache::do_write(const Write& write) {
  const std::string head = this->head(write.tokens);
  const int64_t bytes = page_file_bytes(layout_, std::ssize(head));
  {
    const std::lock_guard lock(mutex_);
    if (entries_.contains(write.key)) return use(write.key);
    if (bytes > options_.budget_bytes) {
      ++statistics_.not_kept;
      return;
    }
    make_room(bytes);
  }
  const fs::path path = path_of(write.key);
  const Result<void> result = write_page_file(path, head, layout_, write.page);
  std::error_code ignored;
  // The system's own stamps are coarser: reads and writes would not be in order of time.
  if (result.ok()) fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
  if (!result.ok() && !std::exchange(failing_, true))
    warn(result.error());  // not for each page of a full disk
  const std::lock_guard lock(mutex_);
  if (!result.ok()) {
    ++statistics_.not_kept;
    return;
  }
  failing_ = false;
  ++statistics_.written;
  add(write.key, bytes);
}

}  // namespace indexshare
