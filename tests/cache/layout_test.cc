#include "cache/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace indexshare {
namespace {

/// A span of bytes of a page.
struct Area {
  int64_t begin, end;
};

std::vector<Area> areas(const CacheLayout& layout) {
  std::vector<Area> all;
  for (int64_t layer = 0; layer < layout.layers(); ++layer) {
    const int64_t latent = layout.latent_offset(layer);
    all.push_back({latent, latent + kPageTokens * layout.latent_row_bytes()});
    if (layout.index_slot[static_cast<size_t>(layer)] < 0) continue;
    const int64_t index = layout.index_offset(layer);
    all.push_back({index, index + layout.index_area_bytes()});
  }
  return all;
}

/// GLM-5.2: layers 0, 1, 2, 6, 10, ..., 74 are full.
std::vector<bool> glm_52_schedule() {
  std::vector<bool> full(78);
  for (size_t i = 0; i < full.size(); ++i) full[i] = i < 2 || (i - 2) % 4 == 0;
  return full;
}

TEST(CacheLayout, Glm52TakesWhatItsNumbersSay) {
  const CacheLayout layout(DType::bf16, 576, 128, glm_52_schedule());
  EXPECT_EQ(std::ranges::count_if(layout.index_slot, [](int slot) { return slot >= 0; }), 21);
  EXPECT_EQ(layout.latent_bytes_per_token(), 78 * 576 * 2);
  EXPECT_EQ(layout.latent_bytes_per_token(), 89'856);
  EXPECT_EQ(layout.index_bytes_per_token(), 21 * 256);
  EXPECT_EQ(layout.page_bytes, kPageTokens * (89'856 + 21 * 256));
}

TEST(CacheLayout, SharedLayersOwnNoIndexKeys) {
  const CacheLayout layout(DType::bf16, 24, 8, {true, false, false, true, false});
  EXPECT_EQ(layout.index_slot, (std::vector<int>{0, -1, -1, 1, -1}));
  const CacheLayout none(DType::bf16, 24, 8, {false, false});
  EXPECT_EQ(none.index_bytes_per_token(), 0);
  EXPECT_EQ(none.page_bytes, 2 * kPageTokens * 24 * 2);
}

TEST(CacheLayout, AreasFillThePageWithoutOverlap) {
  for (const DType dtype : {DType::bf16, DType::f32}) {
    for (const int64_t latent : {1, 17, 576}) {
      for (const int64_t index : {1, 7, 16, 128}) {
        const CacheLayout layout(dtype, latent, index, {true, false, true, true, false});
        std::vector<Area> all = areas(layout);
        std::ranges::sort(all, {}, &Area::begin);
        EXPECT_EQ(all.size(), 5u + 3u);
        int64_t end = 0;
        for (const Area& area : all) {
          EXPECT_EQ(area.begin, end);
          EXPECT_EQ(area.begin % 64, 0) << "areas begin at cache lines";
          end = area.end;
        }
        EXPECT_EQ(end, layout.page_bytes);
        EXPECT_EQ(layout.latent_bytes_per_token() + layout.index_bytes_per_token(),
                  layout.page_bytes / kPageTokens);
      }
    }
  }
}

TEST(CacheLayout, AnOddKeyIsPaddedByOneValue) {
  EXPECT_EQ(CacheLayout(DType::bf16, 8, 7, {true}).index_block_values(), 8 * kIndexBlockTokens);
  EXPECT_EQ(CacheLayout(DType::bf16, 8, 8, {true}).index_block_values(), 8 * kIndexBlockTokens);
}

TEST(CacheLayout, KeyValuesOfABlockHaveOnePlaceEach) {
  for (const int64_t width : {1, 7, 128}) {
    const CacheLayout layout(DType::bf16, 8, width, {true});
    std::set<int64_t> places;
    for (int64_t s = 0; s < kIndexBlockTokens; ++s) {
      for (int64_t i = 0; i < width; ++i) {
        const int64_t place = index_key_offset(s, i);
        EXPECT_TRUE(place >= 0 && place < layout.index_block_values());
        EXPECT_TRUE(places.insert(place).second) << "token " << s << ", value " << i;
      }
    }
  }
  EXPECT_EQ(index_key_offset(0, 1), 1);   // pairs of values stand together,
  EXPECT_EQ(index_key_offset(1, 0), 2);   // then come the tokens,
  EXPECT_EQ(index_key_offset(0, 2), 32);  // then the pairs
}

TEST(CacheLayout, KeysInInt8TakeAByteAValueAndAScale) {
  const std::vector<bool> full = {true, false, true};
  EXPECT_EQ(CacheLayout(DType::bf16, 576, 128, full, IndexKeys::int8).index_bytes_per_token(), 2 * 132);
  EXPECT_EQ(CacheLayout(DType::bf16, 576, 128, full, IndexKeys::screened).index_bytes_per_token(),
            2 * (256 + 128 + 3 * 4));
  std::set<int64_t> places;
  for (int64_t s = 0; s < kIndexBlockTokens; ++s) {
    for (int64_t i = 0; i < 7; ++i) places.insert(int8_key_offset(s, i));
  }
  EXPECT_EQ(places.size(), 7u * kIndexBlockTokens);
  EXPECT_LT(*places.rbegin(), CacheLayout(DType::bf16, 8, 7, {true}).int8_block_bytes());
}

}  // namespace
}  // namespace indexshare
