#include "cli/svg_plot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <regex>
#include <string>
#include <vector>

namespace indexshare::cli {
namespace {

std::vector<PlotPoint> marks(const std::string& svg) {
  std::vector<PlotPoint> found;
  const std::regex mark("<circle cx=\"([0-9.]+)\" cy=\"([0-9.]+)\"");
  for (std::sregex_iterator it(svg.begin(), svg.end(), mark), end; it != end; ++it) {
    found.push_back({std::stod((*it)[1]), std::stod((*it)[2])});
  }
  return found;
}

PlotPanel panel_of(std::vector<PlotPoint> points) {
  return {.title = "t", .x_name = "x", .y_name = "y", .curves = {{.name = "c", .points = std::move(points)}}};
}

std::string plot(const PlotPanel& panel) {
  return svg_plot("title", std::span(&panel, 1));
}

TEST(SvgPlot, BothAxesAreLogarithmic) {
  const auto at = marks(plot(panel_of({{1024, 1}, {4096, 10}, {16384, 100}})));
  ASSERT_EQ(at.size(), 3u);
  EXPECT_NEAR(at[1].x - at[0].x, at[2].x - at[1].x, 0.11);
  EXPECT_NEAR(at[0].y - at[1].y, at[1].y - at[2].y, 0.11);
  EXPECT_GT(at[0].y, at[2].y);
}

TEST(SvgPlot, NoTokensStandOneDoublingBeforeTheFirst) {
  const auto at = marks(plot(panel_of({{0, 1}, {1024, 1}, {2048, 1}})));
  ASSERT_EQ(at.size(), 3u);
  EXPECT_NEAR(at[1].x - at[0].x, at[2].x - at[1].x, 0.11);
}

TEST(SvgPlot, WhatHasNoLogarithmIsLeftOut) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(marks(plot(panel_of({{1, 0}, {2, -1}, {3, nan}, {4, infinity}, {-5, 1}, {6, 2}}))).size(), 1u);
  EXPECT_EQ(marks(plot(panel_of({{1, 0}}))).size(), 0u);
  EXPECT_EQ(marks(plot(panel_of({}))).size(), 0u);
}

TEST(SvgPlot, PointsStayInsideThePicture) {
  for (const double scale : {1e-9, 0.2, 1.0, 5.0, 1e9}) {
    for (const PlotPoint& at : marks(plot(panel_of({{0, scale}, {1 << 20, 3 * scale}, {1 << 30, scale}})))) {
      EXPECT_GE(at.x, 0);
      EXPECT_LE(at.x, 960);
      EXPECT_GE(at.y, 44);
      EXPECT_LE(at.y, 444);
    }
  }
}

TEST(SvgPlot, NamesAreNoMarkup) {
  PlotPanel panel = panel_of({{1, 1}});
  panel.title = "<a & \"b\">\n";
  const std::string svg = plot(panel);
  EXPECT_NE(svg.find("&lt;a &amp; &quot;b&quot;&gt; "), std::string::npos);
  EXPECT_EQ(svg.find("<a"), std::string::npos);
}

}  // namespace
}  // namespace indexshare::cli
