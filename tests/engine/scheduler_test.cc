#include "engine/scheduler.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace indexshare {
namespace {

std::vector<int64_t> planned(const std::vector<Standing>& running, int64_t budget) {
  std::vector<int64_t> tokens;
  schedule(running, budget, tokens);
  return tokens;
}

Standing reader(int64_t pending, int32_t priority = 0) {
  return {.pending = pending, .limit = 1000, .priority = priority};
}
const Standing kDecoder = {.pending = 1, .limit = 1000};

TEST(Scheduler, GivesEveryDecoderItsTokenAndThePromptTheRest) {
  EXPECT_EQ(planned({kDecoder, reader(5000), kDecoder}, 512), (std::vector<int64_t>{1, 510, 1}));
  EXPECT_EQ(planned({reader(100)}, 512), (std::vector<int64_t>{100}));
  EXPECT_EQ(planned({}, 512), std::vector<int64_t>{});
}

TEST(Scheduler, SharesEvenlySoThatAShortPromptDoesNotWait) {
  EXPECT_EQ(planned({reader(9000), reader(30), reader(8000)}, 512), (std::vector<int64_t>{241, 30, 241}));
  EXPECT_EQ(planned({reader(9000), reader(9000), reader(9000)}, 512), (std::vector<int64_t>{171, 171, 170}));
}

TEST(Scheduler, ReadsAFewPromptsSideBySide) {
  const std::vector<int64_t> tokens = planned(std::vector<Standing>(10, reader(1000)), 512);
  EXPECT_EQ(tokens, (std::vector<int64_t>{128, 128, 128, 128, 0, 0, 0, 0, 0, 0}));
}

TEST(Scheduler, LetsAHigherPriorityReadFirst) {
  EXPECT_EQ(planned({reader(400, 5), reader(400, 1), reader(400, 1)}, 512),
            (std::vector<int64_t>{400, 56, 56}));
  EXPECT_EQ(planned({reader(900, 5), reader(400, 1)}, 512), (std::vector<int64_t>{512, 0}));
}

TEST(Scheduler, LeavesAPromptOneTokenHoweverManyDecode) {
  std::vector<Standing> running(20, kDecoder);
  running.push_back(reader(100));
  EXPECT_EQ(planned(running, 8).back(), 1);
}

TEST(Scheduler, StaysInsideLimits) {
  Standing scored = reader(900);
  scored.limit = 16;
  EXPECT_EQ(planned({scored, reader(900)}, 512), (std::vector<int64_t>{16, 496}));
}

TEST(Scheduler, AlwaysMovesSomethingAndNeverMoreThanTheBudget) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Standing> running(1 + random() % 12);
    int64_t decoders = 0;
    for (Standing& s : running) {
      s = {.pending = 1 + static_cast<int64_t>(random() % 3 == 0 ? 0 : random() % 700),
           .limit = 1 + static_cast<int64_t>(random() % 600),
           .priority = 0};
      decoders += s.pending == 1;
    }
    const auto budget = static_cast<int64_t>(1 + random() % 600);
    const std::vector<int64_t> tokens = planned(running, budget);
    const int64_t sum = std::accumulate(tokens.begin(), tokens.end(), int64_t{0});
    EXPECT_GE(sum, 1);
    EXPECT_LE(sum, std::max(budget, decoders + 1));
    for (size_t i = 0; i < running.size(); ++i) {
      EXPECT_GE(tokens[i], running[i].pending == 1 ? 1 : 0);
      EXPECT_LE(tokens[i], std::min(running[i].pending, running[i].limit));
    }
  }
}

}  // namespace
}  // namespace indexshare
