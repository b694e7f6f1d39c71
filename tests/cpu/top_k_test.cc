#include "cpu/top_k.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "cpu/support.h"

namespace indexshare::cpu {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// By a stable sort of everything.
std::vector<int32_t> reference(const std::vector<float>& scores, int64_t k) {
  std::vector<int32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  auto score = [&](int32_t i) {
    const float x = scores[static_cast<size_t>(i)];
    return std::isnan(x) ? -kInf : x;
  };
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return score(a) > score(b); });
  order.resize(std::min(order.size(), static_cast<size_t>(k)));
  std::sort(order.begin(), order.end());
  return order;
}

std::vector<int32_t> finish(TopK& top_k, int64_t k) {
  std::vector<int32_t> positions(static_cast<size_t>(k), -1);
  positions.resize(static_cast<size_t>(top_k.finish(positions.data())));
  return positions;
}

/// Pushes scores [begin, end) in chunks of random length.
void push_in_chunks(TopK& top_k, const std::vector<float>& scores, int64_t begin, int64_t end,
                    Random& random) {
  while (begin < end) {
    const int64_t n = std::min(end - begin, 1 + random.below(100));
    top_k.push(scores.data() + begin, n, begin);
    begin += n;
  }
}

struct Stream {
  std::string name;
  float (*score)(int64_t i, Random& random);
};

const Stream kStreams[] = {
    {"normal", [](int64_t, Random& r) { return r.normal(); }},
    {"ascending", [](int64_t i, Random&) { return static_cast<float>(i); }},
    {"descending", [](int64_t i, Random&) { return -static_cast<float>(i); }},
    {"ascending pairs", [](int64_t i, Random&) { return static_cast<float>(i / 2); }},
    {"all equal", [](int64_t, Random&) { return 1.5f; }},
    {"all NaN", [](int64_t, Random&) { return kNan; }},
    {"all minus infinity", [](int64_t, Random&) { return -kInf; }},
    {"two values", [](int64_t, Random& r) { return static_cast<float>(r.below(2)); }},
    {"few values", [](int64_t, Random& r) { return static_cast<float>(r.below(9)); }},
    {"mostly zero", [](int64_t, Random& r) { return r.below(20) == 0 ? r.normal() : 0.0f; }},
    {"zeros of both signs", [](int64_t, Random& r) { return r.below(2) == 0 ? 0.0f : -0.0f; }},
    {"some NaN", [](int64_t, Random& r) { return r.below(3) == 0 ? kNan : static_cast<float>(r.below(50)); }},
    {"mostly NaN", [](int64_t, Random& r) { return r.below(30) == 0 ? r.normal() : kNan; }},
    {"NaN and minus infinity", [](int64_t, Random& r) { return r.below(2) == 0 ? kNan : -kInf; }},
    {"infinities",
     [](int64_t, Random& r) {
       const float values[] = {kInf, -kInf, kNan, 1.0f};
       return values[r.below(4)];
     }},
    {"below the range of f16",
     [](int64_t, Random& r) { return -1e30f * static_cast<float>(1 + r.below(40)); }},
    {"lowest", [](int64_t i, Random&) { return i % 3 == 0 ? std::numeric_limits<float>::lowest() : -kInf; }},
    {"subnormal", [](int64_t, Random& r) { return 1e-45f * static_cast<float>(r.below(6)); }},
};

constexpr int64_t kLengths[] = {1, 2, 3, 63, 64, 65, 500, 2000};

std::vector<int64_t> widths(int64_t n) {
  return {1, 2, 3, 16, 100, std::max<int64_t>(1, n - 1), n, n + 7};
}

/// Calls body(scores, k, random) for every kind, length and width.
template <typename Body>
void for_each_stream(Body body) {
  Random random(1);
  for (const Stream& stream : kStreams) {
    for (const int64_t n : kLengths) {
      std::vector<float> scores;
      for (int64_t i = 0; i < n; ++i) scores.push_back(stream.score(i, random));
      for (const int64_t k : widths(n)) {
        SCOPED_TRACE(stream.name + ", n " + std::to_string(n) + ", k " + std::to_string(k));
        body(scores, k, random);
      }
    }
  }
}

TEST(TopK, KeepsWhatAStableSortPutsFirst) {
  TopK top_k;  // one for all: reset() must leave nothing behind
  for_each_stream([&](const std::vector<float>& scores, int64_t k, Random&) {
    top_k.reset(k);
    top_k.push(scores.data(), static_cast<int64_t>(scores.size()), 0);
    ASSERT_EQ(finish(top_k, k), reference(scores, k));
  });
}

TEST(TopK, DoesNotDependOnHowTheStreamIsCut) {
  TopK top_k;
  for_each_stream([&](const std::vector<float>& scores, int64_t k, Random& random) {
    top_k.reset(k);
    push_in_chunks(top_k, scores, 0, static_cast<int64_t>(scores.size()), random);
    ASSERT_EQ(finish(top_k, k), reference(scores, k));
  });
}

TEST(TopK, MergedPartsKeepWhatTheWholeKeeps) {
  for_each_stream([&](const std::vector<float>& scores, int64_t k, Random& random) {
    const auto n = static_cast<int64_t>(scores.size());
    const int64_t parts = 2 + random.below(4);
    std::vector<int64_t> cuts = {0, n};
    for (int64_t i = 1; i < parts; ++i) cuts.push_back(random.below(n + 1));
    std::sort(cuts.begin(), cuts.end());
    std::vector<TopK> tops(static_cast<size_t>(parts));
    for (size_t i = 0; i < tops.size(); ++i) {
      tops[i].reset(k);
      push_in_chunks(tops[i], scores, cuts[i], cuts[i + 1], random);
      if (i > 0) tops[0].merge(tops[i]);
    }
    ASSERT_EQ(finish(tops[0], k), reference(scores, k));
  });
}

TEST(TopK, CanGoOnAfterAMerge) {
  for_each_stream([&](const std::vector<float>& scores, int64_t k, Random&) {
    const auto n = static_cast<int64_t>(scores.size());
    TopK first, second;
    first.reset(k);
    second.reset(k);
    first.push(scores.data(), n / 3, 0);
    second.push(scores.data() + n / 3, 2 * n / 3 - n / 3, n / 3);
    first.merge(second);
    first.push(scores.data() + 2 * n / 3, n - 2 * n / 3, 2 * n / 3);
    ASSERT_EQ(finish(first, k), reference(scores, k));
  });
}

TEST(TopK, PositionsStartWhereTheCallerSays) {
  TopK top_k;
  top_k.reset(2);
  const float scores[] = {1.0f, 3.0f, 2.0f};
  top_k.push(scores, 3, 1'000'000);
  EXPECT_EQ(finish(top_k, 2), (std::vector<int32_t>{1'000'001, 1'000'002}));
}

TEST(TopK, OfNothingIsEmpty) {
  TopK top_k;
  top_k.reset(4);
  top_k.push(nullptr, 0, 0);
  EXPECT_TRUE(finish(top_k, 4).empty());
}

}  // namespace
}  // namespace indexshare::cpu
