// The file, all numbers little-endian:
//   "IDXSHARE", u32 version, u32 bytes of the body, u64 checksum of the body
//   body: fingerprint, dtype, index keys (each a u32 length and that many bytes), u32 page tokens, u32 latent
//         width, u32 index width, u32 layers, per layer a byte that says whether it owns index keys, then the
//         token ids, i32 each, to the end of the body
//   per page: its stored form (stored_page.h), u64 checksum
// Checksums are XXH3 in 64 bits; a page's is seeded by the body's and the page's number, so that no page
// passes for another one.
#include "cache/session_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "base/checksum.h"
#include "base/error.h"
#include "base/memory.h"
#include "cache/stored_page.h"

namespace indexshare {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they stand in memory");

constexpr std::string_view kMagic = "IDXSHARE";
constexpr uint32_t kVersion = 1;  // raised with every change of the file or of what a page holds
constexpr int64_t kChecksumBytes = sizeof(uint64_t);
constexpr int64_t kPagesAtATime = 16;  // that a file is given before it proves them

struct Preamble {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t body_bytes;
  uint64_t body_checksum;
};
static_assert(sizeof(Preamble) == 24);

// Beyond any model, and small enough that the bytes of a page do not overflow.
constexpr int64_t kMaxTokens = int64_t{1} << 26;
constexpr int64_t kMaxLayers = int64_t{1} << 12;
constexpr int64_t kMaxWidth = int64_t{1} << 16;
constexpr int64_t kMaxBody = kMaxTokens * int64_t{sizeof(int32_t)} + (int64_t{1} << 16);

int64_t tokens_of_page(int64_t tokens, int64_t page) {
  return std::min(kPageTokens, tokens - page * kPageTokens);
}

class BodyWriter {
 public:
  void number(int64_t value) {
    const auto bits = static_cast<uint32_t>(value);
    bytes_.append(reinterpret_cast<const char*>(&bits), sizeof(bits));
  }
  void text(std::string_view value) {
    number(std::ssize(value));
    bytes_ += value;
  }
  void flag(bool value) { bytes_ += static_cast<char>(value); }
  void ids(std::span<const int32_t> ids) {
    bytes_.append(reinterpret_cast<const char*>(ids.data()), ids.size_bytes());
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Reads what BodyWriter wrote. Beyond the end everything is zero or empty, and is_short() true.
class BodyReader {
 public:
  explicit BodyReader(std::string_view bytes) : rest_(bytes) {}

  int64_t number() {
    uint32_t value = 0;
    const std::string_view bytes = take(sizeof(value));
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof(value));
    return value;
  }
  std::string_view text() { return take(static_cast<size_t>(number())); }
  std::string_view take(size_t bytes) {
    short_ = short_ || bytes > rest_.size();
    if (short_) return {};
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }
  std::string_view rest() const { return rest_; }
  bool is_short() const { return short_; }

 private:
  std::string_view rest_;
  bool short_ = false;
};

std::vector<bool> full_layers(const CacheLayout& layout) {
  std::vector<bool> full;
  for (const int slot : layout.index_slot) full.push_back(slot >= 0);
  return full;
}

/// "FFSS": which layers own index keys.
std::string pattern(const CacheLayout& layout) {
  std::string text;
  for (const int slot : layout.index_slot) text += slot >= 0 ? 'F' : 'S';
  return text;
}

std::string write_body(const CacheLayout& layout, std::span<const int32_t> tokens,
                       std::string_view fingerprint) {
  BodyWriter body;
  body.text(fingerprint);
  body.text(dtype_name(layout.dtype));
  body.text(index_keys_name(layout.index_keys));
  body.number(kPageTokens);
  body.number(layout.latent_width);
  body.number(layout.index_width);
  body.number(layout.layers());
  for (const bool full : full_layers(layout)) body.flag(full);
  body.ids(tokens);
  return body.bytes();
}

/// The part of a body between the fingerprint and the token ids.
Result<CacheLayout> read_layout(BodyReader& body, std::string_view source) {
  const std::string_view dtype_text = body.text(), keys_text = body.text();
  const int64_t page_tokens = body.number(), latent_width = body.number(), index_width = body.number();
  const int64_t layers = body.number();
  const std::string_view flags = body.take(static_cast<size_t>(layers));
  if (body.is_short()) return make_error("{}: its header ends too early", source);

  const std::optional<FloatType> dtype = find_float_type(dtype_text);
  const std::optional<IndexKeys> keys = find_index_keys(keys_text);
  if (!dtype || !keys) return make_error("{}: is kept in a form that this program does not know", source);
  if (page_tokens != kPageTokens) {
    return make_error("{}: has pages of {} tokens, expected {}", source, page_tokens, kPageTokens);
  }
  if (latent_width < 1 || latent_width > kMaxWidth || index_width > kMaxWidth || layers < 1 ||
      layers > kMaxLayers) {
    return make_error("{}: has the impossible shape of {} layers with rows of {} values and keys of {}",
                      source, layers, latent_width, index_width);
  }
  std::vector<bool> full;
  for (const char flag : flags) {
    if (flag != 0 && flag != 1) return make_error("{}: a layer is neither full nor shared", source);
    full.push_back(flag == 1);
  }
  return CacheLayout(dtype_of(*dtype), latent_width, index_width, full, *keys);
}

/// The rest of a body.
Result<std::vector<int32_t>> read_tokens(std::string_view bytes, int64_t vocab_size,
                                         std::string_view source) {
  if (bytes.size() % sizeof(int32_t) != 0) return make_error("{}: its last token id is cut short", source);
  std::vector<int32_t> tokens(bytes.size() / sizeof(int32_t));
  if (!tokens.empty()) std::memcpy(tokens.data(), bytes.data(), bytes.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= vocab_size) {
      return make_error("{}: token id {} at place {} is outside the vocabulary of {} tokens", source,
                        tokens[i], i, vocab_size);
    }
  }
  return tokens;
}

/// Bytes of all pages and their checksums; nothing where that overflows.
std::optional<int64_t> pages_bytes(const CacheLayout& layout, int64_t tokens) {
  const int64_t full_pages = tokens / kPageTokens;
  int64_t bytes = 0;
  if (__builtin_mul_overflow(full_pages, stored_page_bytes(layout, kPageTokens) + kChecksumBytes, &bytes)) {
    return std::nullopt;
  }
  if (tokens % kPageTokens == 0) return bytes;
  const int64_t last = stored_page_bytes(layout, tokens % kPageTokens) + kChecksumBytes;
  if (__builtin_add_overflow(bytes, last, &bytes)) return std::nullopt;
  return bytes;
}

Result<Preamble> read_preamble(const FileReader& file, std::string_view source) {
  Preamble preamble;
  if (file.size() < int64_t{sizeof(preamble)}) {
    return make_error("{}: has {} bytes, too few for a session file", source, file.size());
  }
  RETURN_IF_ERROR(file.read(0, std::as_writable_bytes(std::span(&preamble, 1))));
  if (std::string_view(preamble.magic.data(), preamble.magic.size()) != kMagic) {
    return make_error("{}: is not a session file", source);
  }
  if (preamble.version != kVersion) {
    return make_error("{}: is in version {} of the format of session files, expected {}", source,
                      preamble.version, kVersion);
  }
  if (preamble.body_bytes > std::min(kMaxBody, file.size() - int64_t{sizeof(preamble)})) {
    return make_error("{}: claims a header of {} bytes in a file of {}: it is truncated or damaged", source,
                      preamble.body_bytes, file.size());
  }
  return preamble;
}

Result<Memory> allocate(int64_t bytes, std::string_view source) {
  Memory memory = Memory::allocate(bytes);
  if (memory.data() == nullptr) return make_error("{}: no memory for {} bytes of a page", source, bytes);
  return memory;
}

}  // namespace

Result<void> save_session(const std::filesystem::path& path, const SequenceCache& cache,
                          std::span<const int32_t> tokens, std::string_view fingerprint) {
  const CacheLayout& layout = cache.layout();
  const int64_t length = std::ssize(tokens);
  if (length != cache.length()) {
    return make_error("{}: {} token ids were given for a cache of {} tokens", path.string(), length,
                      cache.length());
  }
  if (length > kMaxTokens || std::ssize(fingerprint) > kMaxFingerprint) {
    return make_error("{}: a session of {} tokens and a fingerprint of {} bytes is too large", path.string(),
                      length, fingerprint.size());
  }
  const std::string body = write_body(layout, tokens, fingerprint);
  Preamble preamble = {.magic = {},
                       .version = kVersion,
                       .body_bytes = static_cast<uint32_t>(body.size()),
                       .body_checksum = checksum(std::as_bytes(std::span(body)))};
  std::ranges::copy(kMagic, preamble.magic.begin());

  ASSIGN_OR_RETURN(FileWriter file, FileWriter::create(path));
  RETURN_IF_ERROR(file.write(std::as_bytes(std::span(&preamble, 1))));
  RETURN_IF_ERROR(file.write(body));
  Memory partial;
  for (int64_t page = 0; page < pages_for(length); ++page) {
    const int64_t count = tokens_of_page(length, page);
    const auto bytes = static_cast<size_t>(stored_page_bytes(layout, count));
    std::span<const std::byte> stored = cache.page_bytes(page).first(bytes);
    if (count < kPageTokens) {
      ASSIGN_OR_RETURN(partial, allocate(std::ssize(stored), path.string()));
      store_page(layout, count, cache.page_bytes(page), {partial.data(), bytes});
      stored = {partial.data(), bytes};
    }
    const uint64_t sum = checksum(stored, preamble.body_checksum + static_cast<uint64_t>(page));
    RETURN_IF_ERROR(file.write(stored));
    RETURN_IF_ERROR(file.write(std::as_bytes(std::span(&sum, 1))));
  }
  return file.commit();
}

SessionFile::SessionFile(std::filesystem::path path, FileReader file, uint64_t checksum, int64_t pages_begin,
                         CacheLayout layout, std::vector<int32_t> tokens)
    : path_(std::move(path)),
      file_(std::move(file)),
      checksum_(checksum),
      pages_begin_(pages_begin),
      layout_(std::move(layout)),
      tokens_(std::move(tokens)) {}

Result<SessionFile> SessionFile::open(const std::filesystem::path& path, std::string_view fingerprint,
                                      int64_t vocab_size) {
  const std::string source = path.string();
  ASSIGN_OR_RETURN(FileReader file, FileReader::open(path));
  ASSIGN_OR_RETURN(const Preamble preamble, read_preamble(file, source));
  std::string bytes(preamble.body_bytes, '\0');
  RETURN_IF_ERROR(file.read(sizeof(preamble), std::as_writable_bytes(std::span(bytes))));
  if (checksum(std::as_bytes(std::span(bytes))) != preamble.body_checksum) {
    return make_error("{}: is damaged: the checksum of its header does not match", source);
  }

  BodyReader body(bytes);
  if (body.text() != fingerprint) return make_error("{}: was saved by another model", source);
  ASSIGN_OR_RETURN(CacheLayout layout, read_layout(body, source));
  ASSIGN_OR_RETURN(std::vector<int32_t> tokens, read_tokens(body.rest(), vocab_size, source));
  const int64_t pages_begin = int64_t{sizeof(preamble)} + preamble.body_bytes;
  const std::optional<int64_t> expected = pages_bytes(layout, std::ssize(tokens));
  if (expected != file.size() - pages_begin) {
    return make_error("{}: has {} bytes behind its header, but {} tokens take {}: it is truncated or damaged",
                      source, file.size() - pages_begin, tokens.size(),
                      expected ? fmt::format("{}", *expected) : "more than any file has");
  }
  return SessionFile(path, std::move(file), preamble.body_checksum, pages_begin, std::move(layout),
                     std::move(tokens));
}

Result<void> SessionFile::check_layout(const CacheLayout& wanted) const {
  const auto fail = [this](std::string_view what, const auto& found, const auto& expected) {
    return make_error("{}: holds {} {}, expected {}", path_.string(), what, found, expected);
  };
  if (layout_.dtype != wanted.dtype) {
    return fail("a cache in", dtype_name(layout_.dtype), dtype_name(wanted.dtype));
  }
  if (layout_.index_keys != wanted.index_keys) {
    return fail("index keys in the form", index_keys_name(layout_.index_keys),
                index_keys_name(wanted.index_keys));
  }
  if (layout_.latent_width != wanted.latent_width) {
    return fail("latent rows of width", layout_.latent_width, wanted.latent_width);
  }
  if (layout_.index_width != wanted.index_width) {
    return fail("index keys of width", layout_.index_width, wanted.index_width);
  }
  if (layout_.index_slot != wanted.index_slot) return fail("the layers", pattern(layout_), pattern(wanted));
  return {};
}

Result<void> SessionFile::read_page(int64_t index, std::span<std::byte> page) const {
  const int64_t count = tokens_of_page(std::ssize(tokens_), index);
  const auto bytes = static_cast<size_t>(stored_page_bytes(layout_, count));
  std::span<std::byte> stored = page.first(bytes);
  Memory partial;
  if (count < kPageTokens) {
    ASSIGN_OR_RETURN(partial, allocate(std::ssize(stored), path_.string()));
    stored = {partial.data(), bytes};
  }
  // The pages before it are full.
  const int64_t offset = pages_begin_ + index * (stored_page_bytes(layout_, kPageTokens) + kChecksumBytes);
  uint64_t sum = 0;
  RETURN_IF_ERROR(file_.read(offset, stored));
  RETURN_IF_ERROR(file_.read(offset + std::ssize(stored), std::as_writable_bytes(std::span(&sum, 1))));
  if (sum != checksum(stored, checksum_ + static_cast<uint64_t>(index))) {
    return make_error("{}: is damaged: the checksum of page {} does not match", path_.string(), index);
  }
  if (count < kPageTokens) load_page(layout_, count, stored, page);
  return {};
}

Result<SequenceCache> SessionFile::restore(PagePool& pool) const {
  return restore(pool, [](FunctionRef<void()> task) { task(); });
}

Result<SequenceCache> SessionFile::restore(PagePool& pool,
                                           FunctionRef<void(FunctionRef<void()>)> with_pool) const {
  RETURN_IF_ERROR(check_layout(pool.layout()));
  const int64_t length = std::ssize(tokens_);
  SequenceCache cache(pool);
  Result<void> restored;
  for (int64_t page = 0; restored.ok() && page < pages_for(length);) {
    // A few pages at a time: a file must prove what it claims before it takes memory for more.
    const int64_t end = std::min(page + kPagesAtATime, pages_for(length));
    with_pool([&] { restored = cache.extend(std::min(end * kPageTokens, length) - cache.length()); });
    if (!restored.ok()) {
      restored = make_error(restored.error().code, "{}: {}", path_.string(), restored.error().message);
    }
    for (; restored.ok() && page < end; ++page) restored = read_page(page, cache.page_bytes(page));
  }
  if (restored.ok()) return cache;
  with_pool([&] { cache.truncate(0); });
  return restored.error();
}

}  // namespace indexshare
