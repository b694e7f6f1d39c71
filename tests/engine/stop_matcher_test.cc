#include "engine/stop_matcher.h"

#include <gtest/gtest.h>

namespace indexshare {
namespace {

// However the text is cut, what is shown ends where the first stop string begins.
TEST(StopMatcher, ShowsNothingOfAStopStringForAnyCut) {
  const std::string text = "one two STOP three";
  for (size_t first = 0; first <= text.size(); ++first) {
    for (size_t second = first; second <= text.size(); ++second) {
      StopMatcher matcher({"STOP", "twin"});
      std::string shown = matcher.push(text.substr(0, first));
      shown += matcher.push(text.substr(first, second - first));
      shown += matcher.push(text.substr(second));
      EXPECT_TRUE(matcher.stopped());
      EXPECT_EQ(shown, "one two ");
      EXPECT_EQ(matcher.met(), "STOP");
    }
  }
}

TEST(StopMatcher, ShowsTheStopStringWhereItIsAskedTo) {
  StopMatcher matcher({"STOP"}, /*include=*/true);
  EXPECT_EQ(matcher.push("one ST"), "one ");
  EXPECT_EQ(matcher.push("OP two"), "STOP");
  EXPECT_EQ(matcher.push("three"), "");
}

TEST(StopMatcher, ReturnsWhatItHeldBackWhenNothingStops) {
  StopMatcher matcher({"abc"});
  EXPECT_EQ(matcher.push("xab"), "x");
  EXPECT_FALSE(matcher.stopped());
  EXPECT_EQ(matcher.flush(), "ab");
}

}  // namespace
}  // namespace indexshare
