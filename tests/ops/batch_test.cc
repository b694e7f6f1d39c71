#include "ops/batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace indexshare {
namespace {

TEST(Batch, FindsASegmentByRow) {
  const std::vector<int32_t> tokens = {5, 6, 7, 8}, positions = {10, 11, 0, 3}, segment_of = {0, 0, 1, 2};
  const std::vector<Segment> segments = {{.first_row = 0, .rows = 2, .position = 10},
                                         {.first_row = 2, .rows = 1, .position = 0},
                                         {.first_row = 3, .rows = 1, .position = 3}};
  const Batch batch = {.tokens = tokens,
                       .positions = positions,
                       .segment_of = segment_of,
                       .segments = segments,
                       .logit_rows = {}};
  EXPECT_EQ(batch.rows(), 4);
  for (int64_t row = 0; row < batch.rows(); ++row) {
    const Segment& segment = batch.segment(row);
    EXPECT_EQ(batch.position(row), segment.position + row - segment.first_row);
  }
}

TEST(Selection, RowsHaveTheirOwnCounts) {
  Selection selection;
  for (const int64_t rows : {3, 1, 7}) {  // used again for a smaller and a larger batch
    const int64_t width = rows + 2;
    selection.resize(rows, width);
    EXPECT_EQ(selection.width(), width);
    for (int64_t i = 0; i < rows; ++i) {
      std::fill_n(selection.row(i), width, static_cast<int32_t>(i));
      selection.set_count(i, i % width);
    }
    for (int64_t i = 0; i < rows; ++i) {
      ASSERT_EQ(std::ssize(selection[i]), i % width);
      EXPECT_TRUE(std::ranges::all_of(selection[i], [&](int32_t position) { return position == i; }));
    }
  }
}

}  // namespace
}  // namespace indexshare
