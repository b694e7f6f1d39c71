// Curves as an SVG file that reads on light and dark screens: both axes logarithmic, panels below each other.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace indexshare::cli {

struct PlotPoint {
  double x = 0;  // tokens; 0 stands one step left of the smallest other
  double y = 0;  // points that are not above 0 are left out
};

enum class Stroke : unsigned char { solid, dashed, dotted };

struct PlotCurve {
  std::string name;
  std::vector<PlotPoint> points;  // ascending x
  size_t color = 0;               // curves of one number have one colour
  Stroke stroke = Stroke::solid;
};

struct PlotPanel {
  std::string title, x_name, y_name;  // names with their units
  std::vector<PlotCurve> curves;
};

/// The text of the file. A panel without a point is left out.
std::string svg_plot(std::string_view title, std::span<const PlotPanel> panels);

}  // namespace indexshare::cli
