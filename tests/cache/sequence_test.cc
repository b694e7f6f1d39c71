#include "cache/sequence.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <utility>
#include <vector>

namespace indexshare {
namespace {

constexpr int64_t kPage = kPageTokens;

const std::vector<bool> kSchedule = {true, false, true};

CacheLayout small_layout() {
  return {DType::bf16, 20, 7, kSchedule};
}

int64_t pages_of(int64_t tokens) {
  return (tokens + kPage - 1) / kPage;
}

/// Writes a number of its own into every byte of a token's rows and keys.
void write_token(SequenceCache& cache, int64_t position, int salt) {
  const CacheLayout& layout = cache.layout();
  for (int64_t layer = 0; layer < layout.layers(); ++layer) {
    const auto mark = static_cast<uint16_t>(position * 7 + layer * 1000 + salt);
    auto* row = reinterpret_cast<uint16_t*>(cache.latent_row(layer, position));
    for (int64_t i = 0; i < layout.latent_width; ++i) row[i] = static_cast<uint16_t>(mark + i);
    if (!kSchedule[static_cast<size_t>(layer)]) continue;
    auto* block = reinterpret_cast<uint16_t*>(cache.index_block(layer, position));
    for (int64_t i = 0; i < layout.index_width; ++i) {
      block[index_key_offset(position % kIndexBlockTokens, i)] = static_cast<uint16_t>(mark + 100 + i);
    }
  }
}

void expect_token(const SequenceCache& cache, int64_t position, int salt) {
  const CacheLayout& layout = cache.layout();
  for (int64_t layer = 0; layer < layout.layers(); ++layer) {
    const auto mark = static_cast<uint16_t>(position * 7 + layer * 1000 + salt);
    const auto* row = reinterpret_cast<const uint16_t*>(cache.latent_row(layer, position));
    for (int64_t i = 0; i < layout.latent_width; ++i) ASSERT_EQ(row[i], static_cast<uint16_t>(mark + i));
    if (!kSchedule[static_cast<size_t>(layer)]) continue;
    const auto* block = reinterpret_cast<const uint16_t*>(cache.index_block(layer, position));
    for (int64_t i = 0; i < layout.index_width; ++i) {
      ASSERT_EQ(block[index_key_offset(position % kIndexBlockTokens, i)],
                static_cast<uint16_t>(mark + 100 + i));
    }
  }
}

TEST(SequenceCache, KeepsEveryTokenApart) {
  PagePool pool(small_layout(), 0);
  SequenceCache a(pool), b(pool);
  for (int64_t t = 0; t < 3 * kPage + 8; ++t) {  // two sequences take pages in turns
    ASSERT_TRUE(a.extend(1).ok());
    ASSERT_TRUE(b.extend(1).ok());
    write_token(a, t, 1);
    write_token(b, t, 2);
  }
  for (int64_t t = 0; t < 3 * kPage + 8; ++t) {
    expect_token(a, t, 1);
    expect_token(b, t, 2);
  }
}

TEST(SequenceCache, BlocksOfOnePageFollowOneAnother) {
  PagePool pool(small_layout(), 0);
  SequenceCache cache(pool);
  ASSERT_TRUE(cache.extend(2 * kPage).ok());
  const int64_t block_bytes = cache.layout().index_block_values() * 2;
  for (const int64_t layer : {0, 2}) {
    for (const int64_t page : {int64_t{0}, kPage}) {
      for (int64_t t = 0; t < kPage; ++t) {
        EXPECT_EQ(cache.index_block(layer, page + t) - cache.index_block(layer, page),
                  t / kIndexBlockTokens * block_bytes);
      }
    }
  }
}

TEST(SequenceCache, ExtendTakesPagesOnlyWhenOneIsFull) {
  PagePool pool(small_layout(), 0);
  SequenceCache cache(pool);
  int64_t length = 0;
  for (const int64_t tokens :
       std::vector<int64_t>{0, 1, kPage - 2, 1, 1, kPage - 1, kPage, kPage + 1, 3 * kPage + 8}) {
    ASSERT_TRUE(cache.extend(tokens).ok());
    length += tokens;
    EXPECT_EQ(cache.length(), length);
    EXPECT_EQ(pool.pages_in_use(), pages_of(length));
  }
}

TEST(SequenceCache, TruncateReleasesPages) {
  PagePool pool(small_layout(), 0);
  SequenceCache cache(pool);
  for (const int64_t length :
       {kPage - 1, kPage, kPage + 1, 2 * kPage - 1, 2 * kPage, 2 * kPage + 1, 5 * kPage}) {
    for (const int64_t kept :
         {int64_t{0}, int64_t{1}, kPage - 1, kPage, kPage + 1, length - 1, length, length + 5}) {
      cache.truncate(0);
      ASSERT_TRUE(cache.extend(length).ok());
      cache.truncate(kept);
      EXPECT_EQ(cache.length(), std::min(kept, length));
      EXPECT_EQ(pool.pages_in_use(), pages_of(std::min(kept, length)));
    }
  }
}

TEST(SequenceCache, ReplayAfterTruncateKeepsTheFirstTokens) {
  PagePool pool(small_layout(), 0);
  for (const int64_t kept :
       {int64_t{0}, int64_t{1}, int64_t{15}, int64_t{16}, kPage - 1, kPage, kPage + 1, 2 * kPage}) {
    SequenceCache cache(pool);
    ASSERT_TRUE(cache.extend(2 * kPage + 22).ok());
    for (int64_t t = 0; t < 2 * kPage + 22; ++t) write_token(cache, t, 1);
    cache.truncate(kept);
    ASSERT_TRUE(cache.extend(100).ok());
    for (int64_t t = kept; t < kept + 100; ++t) write_token(cache, t, 2);
    for (int64_t t = 0; t < kept + 100; ++t) expect_token(cache, t, t < kept ? 1 : 2);
  }
}

TEST(SequenceCache, OutOfBudgetChangesNothing) {
  PagePool pool(small_layout(), 3 * small_layout().page_bytes);
  SequenceCache cache(pool), other(pool);
  ASSERT_TRUE(cache.extend(kPage + 6).ok());  // two pages
  for (int64_t t = 0; t < kPage + 6; ++t) write_token(cache, t, 1);

  const auto refused = cache.extend(3 * kPage - (kPage + 6) + 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find(std::to_string(3 * kPage + 1)), std::string::npos)
      << refused.error().message;
  EXPECT_NE(refused.error().message.find(std::to_string(pool.budget_bytes())), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(cache.length(), kPage + 6);
  EXPECT_EQ(pool.pages_in_use(), 2);
  for (int64_t t = 0; t < kPage + 6; ++t) expect_token(cache, t, 1);

  ASSERT_TRUE(other.extend(kPage).ok());  // the third page is still there for another
  EXPECT_FALSE(cache.extend(kPage - 5).ok());
  EXPECT_TRUE(cache.extend(kPage - 6).ok());  // up to the end of its last page
  other.truncate(0);
  EXPECT_TRUE(cache.extend(kPage).ok());
}

TEST(SequenceCache, GivesItsPagesBackWhenItEnds) {
  PagePool pool(small_layout(), 0);
  {
    SequenceCache cache(pool);
    ASSERT_TRUE(cache.extend(1000).ok());
    SequenceCache moved(std::move(cache));
    EXPECT_EQ(moved.length(), 1000);
    EXPECT_EQ(pool.pages_in_use(), pages_of(1000));
  }
  EXPECT_EQ(pool.pages_in_use(), 0);
}

TEST(SequenceCache, AMovedFromOneIsEmptyAndUsable) {
  PagePool pool(small_layout(), 0);
  SequenceCache cache(pool);
  ASSERT_TRUE(cache.extend(kPage + 6).ok());
  for (int64_t t = 0; t < kPage + 6; ++t) write_token(cache, t, 1);
  SequenceCache moved(std::move(cache));
  EXPECT_EQ(cache.length(), 0);
  ASSERT_TRUE(cache.extend(kPage + 6).ok());
  for (int64_t t = 0; t < kPage + 6; ++t) write_token(cache, t, 2);
  for (int64_t t = 0; t < kPage + 6; ++t) expect_token(moved, t, 1);
}

// What the padding of an odd key would read as must stay a number, whatever was there before.
TEST(SequenceCache, UnwrittenKeysAreZero) {
  PagePool pool(small_layout(), small_layout().page_bytes);
  SequenceCache cache(pool);
  ASSERT_TRUE(cache.extend(kPage).ok());
  std::memset(cache.latent_row(0, 0), 0xff, static_cast<size_t>(cache.layout().page_bytes));
  cache.truncate(0);
  ASSERT_TRUE(cache.extend(1).ok());
  const auto* block = reinterpret_cast<const uint16_t*>(cache.index_block(2, 0));
  for (int64_t i = 0; i < cache.layout().index_block_values(); ++i) EXPECT_EQ(block[i], 0);
}

}  // namespace
}  // namespace indexshare
