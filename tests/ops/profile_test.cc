#include "ops/profile.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string_view>
#include <thread>

namespace indexshare {
namespace {

constexpr auto kNap = std::chrono::milliseconds(5);
constexpr double kNapSeconds = 0.005;

TEST(Profile, EveryPartHasAName) {
  std::set<std::string_view> names;
  for (int part = 0; part < kParts; ++part) names.insert(part_name(static_cast<Part>(part)));
  EXPECT_EQ(names.size(), static_cast<size_t>(kParts));
  EXPECT_EQ(names.count(""), 0u);
  EXPECT_EQ(part_name(Part::index), "index");
  EXPECT_EQ(part_name(Part::other), "other");
}

TEST(Profile, FlopsGoToTheInnermostPart) {
  Profile profile;
  profile.add_flops(1);  // outside any scope
  {
    PartScope outer(profile, Part::projections);
    profile.add_flops(10);
    {
      PartScope inner(profile, Part::attention);
      profile.add_flops(100);
      PartScope same(profile, Part::attention);
      profile.add_flops(1000);
    }
    profile.add_flops(20);
  }
  profile.add_flops(2);
  EXPECT_EQ(profile.work().flops(Part::other), 3);
  EXPECT_EQ(profile.work().flops(Part::projections), 30);
  EXPECT_EQ(profile.work().flops(Part::attention), 1100);
  EXPECT_EQ(profile.work().flops(Part::head), 0);
  EXPECT_EQ(profile.work().total_flops(), 1133);
}

TEST(Profile, TimeIsThatOfTheScopeWithoutNestedOnes) {
  Profile profile;
  const auto begin = Profile::Clock::now();
  {
    PartScope outer(profile, Part::projections);
    std::this_thread::sleep_for(kNap);
    {
      PartScope inner(profile, Part::attention);
      std::this_thread::sleep_for(2 * kNap);
    }
    std::this_thread::sleep_for(kNap);
  }
  const double wall = std::chrono::duration<double>(Profile::Clock::now() - begin).count();
  EXPECT_GE(profile.work().seconds(Part::projections), 2 * kNapSeconds);
  EXPECT_GE(profile.work().seconds(Part::attention), 2 * kNapSeconds);
  EXPECT_LE(profile.work().total_seconds(), wall);
  EXPECT_NEAR(profile.work().total_seconds(),
              profile.work().seconds(Part::projections) + profile.work().seconds(Part::attention), 1e-9);
}

TEST(Profile, TimeBetweenScopesIsNobodys) {
  Profile profile;
  { PartScope scope(profile, Part::head); }
  const double before = profile.work().total_seconds();
  std::this_thread::sleep_for(kNap);
  EXPECT_EQ(profile.work().total_seconds(), before);
  { PartScope scope(profile, Part::head); }
  EXPECT_LT(profile.work().total_seconds() - before, kNapSeconds);
  EXPECT_EQ(profile.work().seconds(Part::other), 0.0);
}

}  // namespace
}  // namespace indexshare
