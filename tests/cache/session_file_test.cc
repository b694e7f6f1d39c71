#include "cache/session_file.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "temporary_directory.h"

namespace indexshare {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kVocab = 1000;
constexpr std::string_view kModel = "the model";

CacheLayout small_layout(IndexKeys keys = IndexKeys::plain) {
  return {DType::bf16, 20, 7, {true, false, true}, keys};
}

/// A sequence whose pages are random bytes of its own. Movable, as the cache is.
struct Sequence {
  Sequence(PagePool& pool, int64_t length, uint32_t seed) : cache(pool) {
    EXPECT_TRUE(cache.extend(length).ok());
    std::mt19937 random(seed);
    for (int64_t page = 0; page * kPageTokens < length; ++page) {
      for (std::byte& byte : cache.page_bytes(page)) byte = static_cast<std::byte>(random());
    }
    for (int64_t t = 0; t < length; ++t) tokens.push_back(static_cast<int32_t>(random() % kVocab));
  }
  SequenceCache cache;
  std::vector<int32_t> tokens;
};

/// The part of the caches that belongs to tokens: rows, and keys with what is kept beside them.
bool same_rows(const SequenceCache& a, const SequenceCache& b) {
  const CacheLayout& layout = a.layout();
  if (a.length() != b.length()) return false;
  const auto same = [](const void* x, const void* y, int64_t bytes) {
    return std::memcmp(x, y, static_cast<size_t>(bytes)) == 0;
  };
  for (int64_t t = 0; t < a.length(); ++t) {
    const int64_t s = t % kIndexBlockTokens, value = dtype_bytes(layout.dtype);
    for (int64_t layer = 0; layer < layout.layers(); ++layer) {
      if (!same(a.latent_row(layer, t), b.latent_row(layer, t), layout.latent_row_bytes())) return false;
      if (layout.index_slot[static_cast<size_t>(layer)] < 0) continue;
      for (int64_t i = 0; i < layout.index_width; ++i) {
        const int64_t at = index_key_offset(s, i) * value;
        if (layout.index_keys != IndexKeys::int8 &&
            !same(a.index_block(layer, t) + at, b.index_block(layer, t) + at, value)) {
          return false;
        }
      }
      if (layout.index_keys == IndexKeys::plain) continue;
      const Int8Keys x = a.int8_block(layer, t), y = b.int8_block(layer, t);
      for (int64_t i = 0; i < layout.index_width; ++i) {
        if (x.keys[int8_key_offset(s, i)] != y.keys[int8_key_offset(s, i)]) return false;
      }
      if (!same(x.scales + s, y.scales + s, 4)) return false;
      if (x.norms != nullptr &&
          (!same(x.norms + s, y.norms + s, 4) || !same(x.errors + s, y.errors + s, 4))) {
        return false;
      }
    }
  }
  return true;
}

/// The bytes of a file of two pages, the second one begun.
std::string saved_session(const fs::path& path, PagePool& pool) {
  const Sequence sequence(pool, kPageTokens + 3, 2);
  EXPECT_TRUE(save_session(path, sequence.cache, sequence.tokens, kModel).ok());
  const auto bytes = read_file(path, int64_t{1} << 20);
  EXPECT_TRUE(bytes.ok());
  return bytes.ok() ? *bytes : "";
}

/// What is wrong with a file, without its name; empty where it can be restored.
std::string problem(const fs::path& path, PagePool& pool, std::string_view fingerprint = kModel,
                    int64_t vocab_size = kVocab) {
  const auto file = SessionFile::open(path, fingerprint, vocab_size);
  std::string message;
  if (!file.ok()) {
    message = file.error().message;
  } else if (const auto cache = file->restore(pool); !cache.ok()) {
    message = cache.error().message;
  } else {
    return "";
  }
  EXPECT_EQ(pool.pages_in_use(), 0);
  const std::string prefix = path.string() + ": ";
  EXPECT_EQ(message.substr(0, prefix.size()), prefix);
  return message.substr(prefix.size());
}

TEST(SessionFile, RestoresEveryRowOfEveryForm) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "session";
  for (const IndexKeys keys : {IndexKeys::plain, IndexKeys::int8, IndexKeys::screened}) {
    PagePool pool(small_layout(keys), 0);
    for (const int64_t length : {0, 1, 15, 16, 17, 255, 256, 257, 511, 512, 700}) {
      const Sequence saved(pool, length, static_cast<uint32_t>(length));
      ASSERT_TRUE(save_session(path, saved.cache, saved.tokens, kModel).ok());
      const auto file = SessionFile::open(path, kModel, kVocab);
      ASSERT_TRUE(file.ok()) << file.error().message;
      EXPECT_TRUE(std::ranges::equal(file->tokens(), saved.tokens));
      EXPECT_EQ(file->layout().index_slot, pool.layout().index_slot);
      PagePool other(small_layout(keys), 0);
      const auto cache = file->restore(other);
      ASSERT_TRUE(cache.ok()) << cache.error().message;
      EXPECT_TRUE(same_rows(saved.cache, *cache)) << length;
      EXPECT_EQ(other.pages_in_use(), (length + kPageTokens - 1) / kPageTokens);
    }
  }
  EXPECT_EQ(directory.count(), 1);
}

TEST(SessionFile, HoldsTheSameBytesWhateverStoodBehindTheTokens) {
  const TemporaryDirectory directory;
  PagePool pool(small_layout(IndexKeys::screened), 0);
  Sequence saved(pool, 300, 1);
  ASSERT_TRUE(save_session(directory / "a", saved.cache, saved.tokens, kModel).ok());
  const auto file = SessionFile::open(directory / "a", kModel, kVocab);
  ASSERT_TRUE(file.ok());
  const auto restored = file->restore(pool);  // zero where `saved` has random bytes
  ASSERT_TRUE(restored.ok());
  ASSERT_TRUE(save_session(directory / "b", *restored, saved.tokens, kModel).ok());
  EXPECT_EQ(directory.read("a"), directory.read("b"));
  const int64_t last_page = 300 - kPageTokens;
  EXPECT_LT(std::ssize(directory.read("a")), pool.layout().page_bytes * (kPageTokens + last_page + 40) / 256);
}

TEST(SessionFile, NoticesEveryDamagedByte) {
  const TemporaryDirectory directory;
  PagePool pool({DType::bf16, 2, 1, {true, false}}, 0);
  const std::string good = saved_session(directory / "good", pool);
  ASSERT_EQ(problem(directory / "good", pool), "");
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (1 << i % 8));
    ASSERT_NE(problem(directory.write("bad", bad), pool), "") << "byte " << i;
  }
}

TEST(SessionFile, NoticesEveryMissingOrAddedByte) {
  const TemporaryDirectory directory;
  PagePool pool({DType::bf16, 2, 1, {true, false}}, 0);
  const std::string good = saved_session(directory / "good", pool);
  for (size_t size = 0; size < good.size(); ++size) {
    ASSERT_NE(problem(directory.write("bad", good.substr(0, size)), pool), "") << size << " bytes";
  }
  EXPECT_NE(problem(directory.write("bad", good + '\0'), pool).find("truncated or damaged"),
            std::string::npos);
}

TEST(SessionFile, NoticesPagesThatChangedPlaces) {
  const TemporaryDirectory directory;
  const CacheLayout layout(DType::bf16, 2, 1, {true, false});
  PagePool pool(layout, 0);
  {
    const Sequence saved(pool, 2 * kPageTokens, 2);
    ASSERT_TRUE(save_session(directory / "good", saved.cache, saved.tokens, kModel).ok());
  }
  std::string bad = directory.read("good");
  const auto page = static_cast<ptrdiff_t>(layout.page_bytes + 8);
  std::rotate(bad.end() - 2 * page, bad.end() - page, bad.end());
  EXPECT_EQ(problem(directory.write("bad", bad), pool), "is damaged: the checksum of page 0 does not match");
}

TEST(SessionFile, SaysWhatAFileIsInstead) {
  const TemporaryDirectory directory;
  PagePool pool(small_layout(), 0);
  {
    const Sequence saved(pool, 300, 1);
    ASSERT_TRUE(save_session(directory / "good", saved.cache, saved.tokens, kModel).ok());
  }
  const fs::path good = directory / "good";
  EXPECT_EQ(problem(directory / "none", pool), "cannot open: No such file or directory");
  EXPECT_EQ(problem(directory.write("empty", ""), pool), "has 0 bytes, too few for a session file");
  EXPECT_EQ(problem(directory.write("text", std::string(100, 'x')), pool), "is not a session file");
  EXPECT_EQ(problem(good, pool, "another"), "was saved by another model");
  EXPECT_NE(problem(good, pool, kModel, 900).find("is outside the vocabulary of 900 tokens"),
            std::string::npos);

  std::string newer = directory.read("good");
  newer[8] = 2;
  EXPECT_EQ(problem(directory.write("newer", newer), pool),
            "is in version 2 of the format of session files, expected 1");

  const std::vector<bool> full = {true, false, true};
  const std::pair<CacheLayout, std::string> others[] = {
      {{DType::f32, 20, 7, full}, "holds a cache in bf16, expected f32"},
      {{DType::bf16, 20, 7, full, IndexKeys::int8}, "holds index keys in the form plain, expected int8"},
      {{DType::bf16, 21, 7, full}, "holds latent rows of width 20, expected 21"},
      {{DType::bf16, 20, 8, full}, "holds index keys of width 7, expected 8"},
      {{DType::bf16, 20, 7, {true, true, false}}, "holds the layers FSF, expected FFS"},
      {{DType::bf16, 20, 7, {true, false, true, false}}, "holds the layers FSF, expected FSFS"},
  };
  for (const auto& [layout, message] : others) {
    PagePool other(layout, 0);
    EXPECT_EQ(problem(good, other), message);
  }
  PagePool small(small_layout(), small_layout().page_bytes + 64);
  EXPECT_NE(problem(good, small).find("no memory for the cache of 300 tokens"), std::string::npos);
}

TEST(SessionFile, SavingChecksWhatItIsGiven) {
  const TemporaryDirectory directory;
  PagePool pool(small_layout(), 0);
  const Sequence saved(pool, 3, 1);
  EXPECT_EQ(
      save_session(directory / "a", saved.cache, std::span(saved.tokens).first(2), kModel).error().message,
      (directory / "a").string() + ": 2 token ids were given for a cache of 3 tokens");
  EXPECT_FALSE(
      save_session(directory / "a", saved.cache, saved.tokens, std::string(kMaxFingerprint + 1, 'x')).ok());
  EXPECT_FALSE(save_session(directory / "none" / "a", saved.cache, saved.tokens, kModel).ok());
  EXPECT_EQ(directory.count(), 0);
}

// A child saves two sequences in turns until it is killed, mostly in the middle of a save.
TEST(SessionFile, AKilledSaveLeavesTheOldFile) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "session";
  PagePool pool(small_layout(), 0);
  const Sequence a(pool, 3000, 1), b(pool, 3100, 2);
  ASSERT_TRUE(save_session(path, a.cache, a.tokens, kModel).ok());
  int interrupted = 0;
  for (int round = 0; round < 40; ++round) {
    const long files = directory.count();
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      while (save_session(path, b.cache, b.tokens, kModel).ok() &&
             save_session(path, a.cache, a.tokens, kModel).ok()) {
      }
      ::_exit(1);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(1000 + 377 * round));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    interrupted += directory.count() > files;  // its temporary file is left

    const auto file = SessionFile::open(path, kModel, kVocab);
    ASSERT_TRUE(file.ok()) << file.error().message;
    const auto cache = file->restore(pool);
    ASSERT_TRUE(cache.ok()) << cache.error().message;
    const Sequence& expected = file->tokens().size() == a.tokens.size() ? a : b;
    EXPECT_TRUE(std::ranges::equal(file->tokens(), expected.tokens));
    EXPECT_TRUE(same_rows(*cache, expected.cache));
  }
  EXPECT_GT(interrupted, 0);
}

}  // namespace
}  // namespace indexshare
