#include "cache/disk_cache.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <future>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cache/page_file.h"
#include "temporary_directory.h"

namespace indexshare {
namespace {

namespace fs = std::filesystem;

using Pages = std::vector<std::vector<std::byte>>;

const CacheLayout kLayout(DType::bf16, 20, 7, {true, false, true});

std::vector<int32_t> tokens_of(int64_t pages, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> tokens(static_cast<size_t>(pages * kPageTokens));
  for (int32_t& id : tokens) id = static_cast<int32_t>(random() % 1000);
  return tokens;
}

std::vector<std::byte> page_of(uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> page(static_cast<size_t>(kLayout.page_bytes));
  for (std::byte& byte : page) byte = static_cast<std::byte>(random());
  return page;
}

std::span<const int32_t> first_pages(const std::vector<int32_t>& tokens, int64_t pages) {
  return std::span(tokens).first(static_cast<size_t>(pages * kPageTokens));
}

/// A cache that ends when this does, and what it complained of.
struct Open {
  explicit Open(const fs::path& directory, int64_t budget = int64_t{1} << 30, std::string model = "model") {
    auto opened = DiskCache::open({.directory = directory,
                                   .budget_bytes = budget,
                                   .fingerprint = std::move(model),
                                   .warn = [this](std::string_view text) { warnings.emplace_back(text); }},
                                  kLayout);
    EXPECT_TRUE(opened.ok());
    if (opened.ok()) cache = std::move(*opened);
  }

  void write(const std::vector<int32_t>& tokens, uint32_t seed) {
    for (int64_t i = 0; i * kPageTokens < std::ssize(tokens); ++i) {
      cache->write(first_pages(tokens, i + 1), page_of(seed + static_cast<uint32_t>(i)), /*wait=*/true);
    }
  }

  /// The pages of `tokens` from page `first` on, as many as could be read.
  Pages read(const std::vector<int32_t>& tokens, int64_t first = 0) const {
    const auto count = std::ssize(tokens) / kPageTokens - first;
    Pages pages(static_cast<size_t>(count), page_of(999));
    std::promise<int64_t> done;
    cache->read(tokens, {pages.begin(), pages.end()}, [&](int64_t n) { done.set_value(n); });
    pages.resize(static_cast<size_t>(done.get_future().get()));
    return pages;
  }

  std::vector<std::string> warnings;  // before the cache, whose thread writes it
  std::unique_ptr<DiskCache> cache;
};

std::vector<fs::path> files(const TemporaryDirectory& directory) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(directory.path())) found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

int64_t file_bytes(int64_t pages_before) {
  const auto tokens = tokens_of(pages_before + 1, 1);
  return page_file_bytes(kLayout, std::ssize(page_file_head("model", kLayout, tokens)));
}

TEST(DiskCache, GivesPagesBackAcrossRestarts) {
  const TemporaryDirectory directory;
  const auto tokens = tokens_of(3, 1), other = tokens_of(2, 2);
  {
    Open open(directory.path());
    EXPECT_EQ(open.cache->find(tokens, 0), 0);
    open.write(tokens, 10);
    open.write(other, 20);
  }
  Open open(directory / ".");
  EXPECT_EQ(open.cache->find(tokens, 0), 3);
  EXPECT_EQ(open.cache->find(tokens, 1), 2);
  EXPECT_EQ(open.cache->find(other, 0), 2);
  EXPECT_EQ(open.read(tokens), (Pages{page_of(10), page_of(11), page_of(12)}));
  EXPECT_EQ(open.read(tokens, 2), (Pages{page_of(12)}));
  EXPECT_EQ(open.read(other), (Pages{page_of(20), page_of(21)}));

  auto longer = tokens;
  longer.resize(tokens.size() + 100, 5);  // a page that is not full is none
  EXPECT_EQ(open.cache->find(longer, 0), 3);
  auto changed = tokens;
  changed[300] ^= 1;
  EXPECT_EQ(open.cache->find(changed, 0), 1);
  EXPECT_EQ(open.cache->statistics().written, 0);
  EXPECT_EQ(open.cache->statistics().read, 6);
  EXPECT_TRUE(open.warnings.empty());
}

TEST(DiskCache, KnowsPagesByAllTokensBeforeThem) {
  const TemporaryDirectory directory;
  const auto tokens = tokens_of(2, 1);
  auto other = tokens_of(1, 2);
  other.insert(other.end(), tokens.begin() + kPageTokens, tokens.end());  // ends alike
  {
    Open open(directory.path());
    open.write(tokens, 10);
    open.write(other, 20);
  }
  Open open(directory.path());
  EXPECT_EQ(open.read(tokens), (Pages{page_of(10), page_of(11)}));
  EXPECT_EQ(open.read(other), (Pages{page_of(20), page_of(21)}));
}

TEST(DiskCache, StaysInsideItsBudgetAndKeepsWhatIsUsed) {
  const TemporaryDirectory directory;
  const int64_t budget = 3 * file_bytes(0) + 10;
  const auto a = tokens_of(1, 1), b = tokens_of(1, 2), c = tokens_of(1, 3), d = tokens_of(1, 4);
  {
    Open open(directory.path(), budget);
    for (const auto& tokens : {a, b, c}) open.write(tokens, 1);
  }
  {
    Open open(directory.path(), budget);
    EXPECT_EQ(open.read(a).size(), 1u);
    open.write(d, 1);
  }
  {
    Open open(directory.path(), budget);
    EXPECT_EQ(open.cache->find(a, 0), 1);
    EXPECT_EQ(open.cache->find(b, 0), 0);
    EXPECT_EQ(open.cache->find(c, 0), 1);
    EXPECT_EQ(open.cache->find(d, 0), 1);
    EXPECT_EQ(files(directory).size(), 3u);
    EXPECT_EQ(open.cache->statistics().bytes, 3 * file_bytes(0));
  }
  const Open smaller(directory.path(), budget / 3);
  EXPECT_EQ(files(directory).size(), 1u);
  EXPECT_EQ(smaller.cache->find(d, 0), 1);
  const Open none(directory.path(), 10);
  EXPECT_EQ(files(directory).size(), 0u);
}

TEST(DiskCache, DropsWhatIsDamagedOrForeign) {
  const TemporaryDirectory directory;
  const auto tokens = tokens_of(1, 1), other = tokens_of(1, 2);
  {
    Open open(directory.path());
    open.write(tokens, 1);
  }
  const fs::path file = files(directory).front();
  const std::string name = file.filename().string();
  const std::string good = directory.read(name);
  const std::string head = "is not the page of these tokens under this model and layout; it is removed";
  for (const auto& [at, sentence] :
       {std::pair<size_t, std::string>{3, head},
        {12, head},
        {good.size() - 5000, "the checksum of its page does not match; it is removed"},
        {good.size() - 1, "the checksum of its page does not match; it is removed"}}) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 4);
    directory.write(name, bad);
    Open open(directory.path());
    EXPECT_EQ(open.cache->find(tokens, 0), 1);
    EXPECT_TRUE(open.read(tokens).empty());
    ASSERT_EQ(open.warnings.size(), 1u);
    EXPECT_TRUE(open.warnings[0].starts_with(file.string() + ": ")) << open.warnings[0];
    EXPECT_NE(open.warnings[0].find(sentence), std::string::npos) << open.warnings[0];
    EXPECT_FALSE(fs::exists(file));
    EXPECT_EQ(open.cache->find(tokens, 0), 0);
    EXPECT_EQ(open.cache->statistics().refused, 1);
  }
  for (const std::string& bad : {good.substr(0, good.size() - 1), good + "x", std::string()}) {
    directory.write(name, bad);
    const Open open(directory.path());
    EXPECT_TRUE(open.read(tokens).empty());
    EXPECT_FALSE(fs::exists(file));
  }
  // The same tokens under another model have another name.
  directory.write(name, good);
  const Open foreign(directory.path(), int64_t{1} << 30, "another");
  EXPECT_EQ(foreign.cache->find(tokens, 0), 0);
  EXPECT_TRUE(fs::exists(file));
}

TEST(DiskCache, AFileThatHasGoneIsNoPage) {
  const TemporaryDirectory directory;
  const auto tokens = tokens_of(2, 1);
  {
    Open open(directory.path());
    open.write(tokens, 1);
  }
  const Open open(directory.path());
  for (const fs::path& file : files(directory)) fs::remove(file);
  EXPECT_TRUE(open.read(tokens).empty());
  EXPECT_TRUE(open.warnings.empty());
}

TEST(DiskCache, SaysOnceThatItCannotWrite) {
  const TemporaryDirectory directory;
  Open open(directory / "cache");
  fs::remove_all(directory / "cache");
  open.write(tokens_of(5, 1), 1);
  open.cache.reset();
  EXPECT_EQ(open.warnings.size(), 1u);
  const fs::path file = directory.write("file", "x");
  const auto refused =
      DiskCache::open({.directory = file, .budget_bytes = 1, .fingerprint = "", .warn = {}}, kLayout);
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(refused.error().message.starts_with(file.string() + ": "));
}

// A child writes page after page until it is killed, mostly in the middle of one.
TEST(DiskCache, AKilledWriterLeavesWholePages) {
  const TemporaryDirectory directory;
  const auto tokens = tokens_of(200, 1);
  for (int round = 0; round < 10; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Open(directory.path()).write(tokens, 1);
      ::_exit(1);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(3000 + 911 * round));
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    const Open open(directory.path());
    const int64_t count = open.cache->find(tokens, 0);
    const std::vector<int32_t> begin(tokens.begin(), tokens.begin() + count * kPageTokens);
    const auto pages = open.read(begin);
    ASSERT_EQ(std::ssize(pages), count);
    for (size_t i = 0; i < pages.size(); ++i) EXPECT_EQ(pages[i], page_of(1 + static_cast<uint32_t>(i)));
    EXPECT_EQ(std::ssize(files(directory)), open.cache->statistics().pages);  // no half-written file is left
    EXPECT_TRUE(open.warnings.empty());
  }
  EXPECT_FALSE(files(directory).empty());
}

}  // namespace
}  // namespace indexshare
