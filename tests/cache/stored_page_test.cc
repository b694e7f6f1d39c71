#include "cache/stored_page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "cache/sequence.h"

namespace indexshare {
namespace {

constexpr std::byte kStale{0xee};

/// Every form of cache.
std::vector<CacheLayout> layouts(int64_t index_width) {
  std::vector<CacheLayout> all;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const IndexKeys keys : {IndexKeys::plain, IndexKeys::int8, IndexKeys::screened}) {
      all.emplace_back(dtype, 20, index_width, std::vector<bool>{true, false, true}, keys);
    }
  }
  all.emplace_back(DType::bf16, 3, 0, std::vector<bool>{false});
  return all;
}

std::vector<std::byte> random_bytes(int64_t size) {
  std::mt19937 random(3);
  std::vector<std::byte> bytes(static_cast<size_t>(size));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 200 + 1);  // neither zero nor stale
  return bytes;
}

std::vector<std::byte> store(const CacheLayout& layout, int64_t tokens, std::span<const std::byte> page) {
  std::vector<std::byte> stored(static_cast<size_t>(stored_page_bytes(layout, tokens)));
  store_page(layout, tokens, page, stored);
  return stored;
}

TEST(StoredPage, AFullPageIsStoredAsItStands) {
  for (const CacheLayout& layout : layouts(7)) {
    EXPECT_EQ(stored_page_bytes(layout, kPageTokens), layout.page_bytes);
    const auto page = random_bytes(layout.page_bytes);
    EXPECT_EQ(store(layout, kPageTokens, page), page);
  }
}

constexpr std::byte kMark{1};

/// Marks all that a cache keeps of a token, where SequenceCache says that it stands; returns the bytes.
int64_t mark_token(const SequenceCache& cache, int64_t t) {
  const CacheLayout& layout = cache.layout();
  int64_t marked = 0;
  const auto mark = [&](void* to, int64_t bytes) {
    std::fill_n(static_cast<std::byte*>(to), bytes, kMark);
    marked += bytes;
  };
  const int64_t s = t % kIndexBlockTokens, value = dtype_bytes(layout.dtype);
  for (int64_t layer = 0; layer < layout.layers(); ++layer) {
    mark(cache.latent_row(layer, t), layout.latent_row_bytes());
    if (layout.index_slot[static_cast<size_t>(layer)] < 0) continue;
    for (int64_t i = 0; i < layout.index_width && layout.index_keys != IndexKeys::int8; ++i) {
      mark(cache.index_block(layer, t) + index_key_offset(s, i) * value, value);
    }
    if (layout.index_keys == IndexKeys::plain) continue;
    const Int8Keys keys = cache.int8_block(layer, t);
    for (int64_t i = 0; i < layout.index_width; ++i) mark(keys.keys + int8_key_offset(s, i), 1);
    for (float* scalars : {keys.scales, keys.norms, keys.errors}) {
      if (scalars != nullptr) mark(scalars + s, sizeof(float));
    }
  }
  return marked;
}

TEST(StoredPage, KeepsAllOfTheFirstTokensAndNothingOfOthers) {
  for (const CacheLayout& layout : layouts(8)) {  // a width without padding: every byte is a token's
    PagePool pool(layout, 0);
    SequenceCache cache(pool);
    ASSERT_TRUE(cache.extend(kPageTokens).ok());
    const auto page = cache.page_bytes(0);
    for (const int64_t tokens : {1, 2, 15, 16, 17, 100, 255, 256}) {
      std::ranges::fill(page, kStale);
      int64_t marked = 0;
      for (int64_t t = 0; t < tokens; ++t) marked += mark_token(cache, t);
      const auto stored = store(layout, tokens, page);
      EXPECT_EQ(std::ranges::count(stored, kMark), marked) << tokens;
      EXPECT_EQ(std::ranges::count(stored, std::byte{0}), std::ssize(stored) - marked) << tokens;

      std::vector<std::byte> loaded(page.size());
      load_page(layout, tokens, stored, loaded);
      for (size_t i = 0; i < page.size(); ++i) ASSERT_EQ(loaded[i] == kMark, page[i] == kMark) << i;
    }
  }
}

TEST(StoredPage, LoadingTouchesOnlyWhatWasStored) {
  const CacheLayout layout(DType::bf16, 20, 7, {true, false, true});
  const auto page = random_bytes(layout.page_bytes);
  std::vector<std::byte> loaded(page.size(), kStale);
  load_page(layout, 20, store(layout, 20, page), loaded);
  EXPECT_EQ(std::ranges::count_if(loaded, [](std::byte b) { return b != kStale; }),
            stored_page_bytes(layout, 20));
}

}  // namespace
}  // namespace indexshare
