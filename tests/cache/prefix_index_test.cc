#include "cache/prefix_index.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>
#include <vector>

namespace indexshare {
namespace {

constexpr int64_t kPage = kPageTokens;

CacheLayout small_layout() {
  return {DType::f32, 1, 1, {true}};
}

std::vector<int32_t> tokens(int64_t count, int32_t salt = 0) {
  std::vector<int32_t> ids(static_cast<size_t>(count));
  std::iota(ids.begin(), ids.end(), salt);
  return ids;
}

std::vector<int32_t> join(std::vector<int32_t> a, const std::vector<int32_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

float& value(const SequenceCache& cache, int64_t position) {
  return *reinterpret_cast<float*>(cache.latent_row(0, position));
}

class PrefixIndexTest : public ::testing::Test {
 protected:
  /// As a forward pass would: a token's row tells all the tokens up to it, by a hash of them.
  void run(SequenceCache& cache, std::span<const int32_t> ids) {
    for (auto length = static_cast<size_t>(cache.length()); length < ids.size(); ++length) {
      ASSERT_TRUE(cache.extend(1).ok());
      value(cache, static_cast<int64_t>(length)) = mark(ids.first(length + 1));
    }
  }

  static float mark(std::span<const int32_t> ids) {
    uint32_t hash = 2166136261u;
    for (const int32_t id : ids) hash = (hash ^ static_cast<uint32_t>(id)) * 16777619u;
    return static_cast<float>(hash >> 9);
  }

  static void expect_rows(const SequenceCache& cache, std::span<const int32_t> ids) {
    for (int64_t i = 0; i < cache.length(); ++i) {
      ASSERT_EQ(value(cache, i), mark(ids.first(static_cast<size_t>(i) + 1))) << "token " << i;
    }
  }

  /// Runs a sequence as the engine does, and leaves it in the index; returns what was there already.
  int64_t serve(std::span<const int32_t> ids, bool ended = true) {
    SequenceCache cache = index_.attach(ids);
    const int64_t found = cache.length();
    EXPECT_LE(found, std::ssize(ids));
    expect_rows(cache, ids);
    run(cache, ids);
    expect_rows(cache, ids);
    index_.insert(ids, cache, ended);
    return found;
  }

  PagePool pool_{small_layout(), 0};
  PrefixIndex index_{pool_};
};

TEST_F(PrefixIndexTest, FindsWhatWasRunBefore) {
  const auto ids = tokens(2 * kPage + 30);
  EXPECT_EQ(serve(ids), 0);
  EXPECT_EQ(index_.match(ids), std::ssize(ids));
  EXPECT_EQ(serve(ids), std::ssize(ids));
  EXPECT_EQ(index_.pages(), 3);
  EXPECT_EQ(serve(tokens(kPage + 5)), kPage + 5);  // ends inside a page that is full
  EXPECT_EQ(index_.pages(), 3);
}

TEST_F(PrefixIndexTest, BranchesWhereSequencesPart) {
  const auto first = join(tokens(kPage + 100), tokens(300, 5000));
  const auto second = join(tokens(kPage + 100), tokens(300, 9000));
  EXPECT_EQ(serve(first), 0);
  EXPECT_EQ(serve(second), kPage + 100);
  EXPECT_EQ(index_.match(first), std::ssize(first));
  EXPECT_EQ(index_.match(second), std::ssize(second));
  EXPECT_EQ(index_.pages(), 5);  // one in common, and two of each
}

// A conversation goes on: its last page, begun, is copied by whoever goes on, and replaced when it says more.
TEST_F(PrefixIndexTest, ReplacesAPageThatWasOnlyBegun) {
  const auto turn = tokens(kPage + 20);
  serve(turn);
  const auto longer = join(turn, tokens(10, 700));
  EXPECT_EQ(serve(longer), std::ssize(turn));
  EXPECT_EQ(index_.pages(), 2);
  EXPECT_EQ(pool_.pages_in_use(), 2);
  const auto other = join(turn, tokens(2 * kPage, 800));
  EXPECT_EQ(serve(other), std::ssize(turn));
  EXPECT_EQ(index_.match(longer), std::ssize(longer));
}

TEST_F(PrefixIndexTest, KeepsFullPagesAloneOfSequencesThatGoOn) {
  serve(tokens(kPage + 20), /*ended=*/false);
  EXPECT_EQ(index_.match(tokens(kPage + 20)), kPage);
}

TEST_F(PrefixIndexTest, APageThatIsSharedIsNotWritten) {
  const auto ids = tokens(10);
  serve(ids);
  SequenceCache a = index_.attach(ids), b = index_.attach(ids);
  const auto more_a = join(ids, {100}), more_b = join(ids, {200});
  run(a, more_a);
  run(b, more_b);
  expect_rows(a, more_a);
  expect_rows(b, more_b);
  expect_rows(index_.attach(ids), ids);
}

TEST_F(PrefixIndexTest, SaysWhyItHasNoMore) {
  const auto ids = tokens(2 * kPage + 30);
  EXPECT_EQ(index_.match_end(ids), PrefixEnd::nothing);
  serve(ids);
  EXPECT_EQ(index_.match_end(ids), PrefixEnd::whole);
  EXPECT_EQ(index_.match_end(tokens(kPage + 5)), PrefixEnd::whole);
  EXPECT_EQ(index_.match_end(join(ids, {7})), PrefixEnd::whole);  // which is always run
  EXPECT_EQ(index_.match_end(join(ids, {7, 8})), PrefixEnd::ended);
  EXPECT_EQ(index_.match_end(join(tokens(kPage + 5), {7, 8})), PrefixEnd::differs);
  EXPECT_EQ(index_.match_end(join(tokens(2 * kPage), {7, 8})), PrefixEnd::differs);
  EXPECT_EQ(index_.match_end(tokens(9, 5000)), PrefixEnd::nothing);
  serve(tokens(kPage, 10000));
  EXPECT_EQ(index_.match_end(join(tokens(kPage, 10000), {7, 8})), PrefixEnd::ended);  // on a page's end
}

class SmallPool : public PrefixIndexTest {
 protected:
  SmallPool() : small_(small_layout(), 4 * pool_.layout().page_bytes), kept_(small_) {}

  int64_t serve(std::span<const int32_t> ids) {
    SequenceCache cache = kept_.attach(ids);
    const int64_t found = cache.length();
    run(cache, ids);
    kept_.insert(ids, cache, true);
    return found;
  }

  PagePool small_;
  PrefixIndex kept_;
};

TEST_F(SmallPool, TakesBackWhatWasOfNoUseForLongest) {
  const auto a = tokens(2 * kPage), b = tokens(kPage, 10000), c = tokens(kPage, 20000),
             d = tokens(kPage, 30000);
  serve(a);
  serve(b);
  serve(c);
  EXPECT_EQ(kept_.pages(), 4);
  EXPECT_EQ(small_.pages_left(), 0);
  EXPECT_EQ(kept_.unused_pages(), 4);
  EXPECT_EQ(serve(a), std::ssize(a));  // now b is the oldest
  EXPECT_EQ(serve(d), 0);
  EXPECT_EQ(kept_.match(b), 0);
  EXPECT_EQ(kept_.match(c), std::ssize(c));
  EXPECT_EQ(serve(b), 0);
  EXPECT_EQ(kept_.match(c), 0);
  EXPECT_EQ(serve(c), 0);  // takes the second page of a: never the first while the second follows it
  EXPECT_EQ(kept_.match(a), kPage);
  EXPECT_EQ(kept_.match_end(a), PrefixEnd::evicted);
  EXPECT_EQ(kept_.match_end(join(tokens(kPage + 20), tokens(20, 7000))), PrefixEnd::evicted);
  EXPECT_EQ(kept_.match_end(join(tokens(kPage), tokens(20, 7000))), PrefixEnd::ended);
}

// Two prompts part after 100 tokens, and the one that had more in common has gone.
TEST_F(SmallPool, TellsWhatItHadFromWhatItNeverHad) {
  const auto a = join(tokens(100), tokens(kPage - 100, 7000)),
             b = join(tokens(100), tokens(kPage - 100, 8000));
  serve(a);
  serve(b);
  for (int i = 0; i < 3; ++i) serve(tokens(kPage, 10000 * (i + 1)));
  EXPECT_EQ(kept_.match(a), 100);
  EXPECT_EQ(kept_.match_end(a), PrefixEnd::evicted);
  EXPECT_EQ(kept_.match_end(join(tokens(100), tokens(100, 9000))), PrefixEnd::differs);
  serve(a);
  EXPECT_EQ(kept_.match_end(a), PrefixEnd::whole);
}

TEST_F(SmallPool, NeverTakesAPageFromASequence) {
  const auto a = tokens(3 * kPage);
  serve(a);
  const SequenceCache held = kept_.attach(a);
  EXPECT_EQ(kept_.unused_pages(), 0);
  SequenceCache other(small_);
  EXPECT_TRUE(other.extend(kPage).ok());
  const auto refused = other.extend(1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::out_of_memory);
  EXPECT_EQ(other.length(), kPage);
  expect_rows(held, a);
}

// Whatever is asked for in whatever order: what comes back are the rows of these tokens, and no page is lost.
TEST_F(SmallPool, ServesAnyOrderOfSequences) {
  std::mt19937 random(7);
  for (int i = 0; i < 500; ++i) {
    std::vector<int32_t> ids;
    const auto pieces = 1 + random() % 3;
    for (size_t piece = 0; piece < pieces; ++piece) {
      ids = join(ids, tokens(static_cast<int64_t>(random() % (kPage + 9)) + 1,
                             static_cast<int32_t>(random() % 2) * 777));
    }
    SequenceCache cache = kept_.attach(ids);
    expect_rows(cache, ids);
    run(cache, ids);
    kept_.insert(ids, cache, random() % 2 == 0);
    expect_rows(cache, ids);
    ASSERT_LE(small_.pages_in_use(), 4);
  }
  EXPECT_EQ(kept_.unused_pages(), kept_.pages());
  EXPECT_EQ(small_.pages_in_use(), kept_.pages());
}

}  // namespace
}  // namespace indexshare
