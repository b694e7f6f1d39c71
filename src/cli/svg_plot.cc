#include "cli/svg_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "base/error.h"

namespace indexshare::cli {
namespace {

// Everything in pixels.
constexpr double kWidth = 960, kPanelHeight = 400, kTitleHeight = 44;
constexpr double kLeft = 76, kRight = 250, kTop = 40, kBottom = 56;  // around the curves of a panel
constexpr double kLegendLine = 20, kLegendStroke = 28;
constexpr double kLabelGap = 44;  // between the labels of the x axis, at least

// Okabe and Ito's colours without their black and yellow: told apart by everybody, on white and on black.
constexpr std::array kColors = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"};

constexpr std::string_view kStyle =
    "<style>\n"
    "text { font: 13px sans-serif; fill: #1f2328 }\n"
    ".back { fill: #ffffff } .grid { stroke: #d0d7de } .curve { fill: none; stroke-width: 2 }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "  text { fill: #e6edf3 } .back { fill: #0d1117 } .grid { stroke: #30363d }\n"
    "}\n"
    "</style>\n";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

// 4096 is "4K", as on the command line.
std::string tokens_label(double tokens) {
  const auto count = static_cast<int64_t>(tokens);
  if (count > 0 && count % (1 << 20) == 0) return fmt::format("{}M", count >> 20);
  if (count > 0 && count % (1 << 10) == 0) return fmt::format("{}K", count >> 10);
  return fmt::format("{}", count);
}

// The values 1, 2 and 5 times a power of ten from the last that is not above `low` to the first not below
// `high`.
std::vector<double> ticks_between(double low, double high) {
  std::vector<double> ticks;
  for (int power = static_cast<int>(std::floor(std::log10(low)));; ++power) {
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double tick = digit * std::pow(10.0, power);
      if (tick <= low) ticks.clear();
      ticks.push_back(tick);
      if (tick >= high && ticks.size() > 1) return ticks;
    }
  }
}

const char* dashes(Stroke stroke) {
  switch (stroke) {
    case Stroke::dashed: return " stroke-dasharray=\"8 4\"";
    case Stroke::dotted: return " stroke-dasharray=\"2 4\"";
    default: return "";
  }
}

const char* color_of(const PlotCurve& curve) {
  return kColors[curve.color % kColors.size()];
}

bool is_shown(const PlotPoint& point) {
  return point.x >= 0 && point.y > 0 && std::isfinite(point.x) && std::isfinite(point.y);
}

// Where the values of one panel stand.
class Axes {
 public:
  Axes(const PlotPanel& panel, double top) : top_(top) {
    double low = 0, high = 0;
    for (const PlotCurve& curve : panel.curves) {
      for (const PlotPoint& point : curve.points) {
        if (!is_shown(point)) continue;
        low = high == 0 ? point.y : std::min(low, point.y);
        high = std::max(high, point.y);
        x_values_.push_back(point.x);
      }
    }
    if (x_values_.empty()) return;
    std::sort(x_values_.begin(), x_values_.end());
    x_values_.erase(std::unique(x_values_.begin(), x_values_.end()), x_values_.end());
    const auto above_zero = std::upper_bound(x_values_.begin(), x_values_.end(), 0.0);
    zero_ = above_zero == x_values_.end() ? 0 : std::log2(*above_zero) - 1;
    y_ticks_ = ticks_between(low, high);
  }

  bool is_empty() const { return x_values_.empty(); }
  const std::vector<double>& x_values() const { return x_values_; }
  const std::vector<double>& y_ticks() const { return y_ticks_; }
  double left() const { return kLeft; }
  double right() const { return kWidth - kRight; }
  double top() const { return top_ + kTop; }
  double bottom() const { return top_ + kPanelHeight - kBottom; }

  double x(double tokens) const {
    const double first = scale(x_values_.front()), last = scale(x_values_.back());
    if (first == last) return (left() + right()) / 2;
    return left() + (scale(tokens) - first) / (last - first) * (right() - left());
  }
  double y(double value) const {
    const double low = std::log10(y_ticks_.front()), high = std::log10(y_ticks_.back());
    return bottom() - (std::log10(value) - low) / (high - low) * (bottom() - top());
  }

 private:
  double scale(double tokens) const { return tokens > 0 ? std::log2(tokens) : zero_; }

  double top_;
  double zero_ = 0;  // where 0 tokens stand among the logarithms of the others
  std::vector<double> x_values_, y_ticks_;
};

std::string line(double x1, double y1, double x2, double y2) {
  return fmt::format("<line class=\"grid\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", x1,
                     y1, x2, y2);
}

std::string label(double x, double y, const char* anchor, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     escaped(text));
}

std::string grid(const PlotPanel& panel, const Axes& axes) {
  std::string text = label(axes.left(), axes.top() - 14, "start", panel.title);
  for (const double tick : axes.y_ticks()) {
    text += line(axes.left(), axes.y(tick), axes.right(), axes.y(tick));
    text += label(axes.left() - 8, axes.y(tick) + 4, "end", fmt::format("{:g}", tick));
  }
  double last_label = -kLabelGap;
  for (const double x : axes.x_values()) {
    text += line(axes.x(x), axes.top(), axes.x(x), axes.bottom());
    if (axes.x(x) - last_label < kLabelGap) continue;
    last_label = axes.x(x);
    text += label(axes.x(x), axes.bottom() + 18, "middle", tokens_label(x));
  }
  text += label((axes.left() + axes.right()) / 2, axes.bottom() + 40, "middle", panel.x_name);
  const double middle = (axes.top() + axes.bottom()) / 2;
  return text + fmt::format(
                    "<text x=\"18\" y=\"{0:.1f}\" text-anchor=\"middle\" transform=\"rotate(-90 18 "
                    "{0:.1f})\">{1}</text>\n",
                    middle, escaped(panel.y_name));
}

std::string curve_text(const PlotCurve& curve, const Axes& axes) {
  std::string path, marks;
  for (const PlotPoint& point : curve.points) {
    if (!is_shown(point)) continue;
    const double x = axes.x(point.x), y = axes.y(point.y);
    path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "" : " ", x, y);
    marks +=
        fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"><title>{}, {}: {:.4g}</title></circle>\n", x,
                    y, escaped(curve.name), tokens_label(point.x), point.y);
  }
  return fmt::format(
      "<g stroke=\"{0}\" fill=\"{0}\">\n<polyline class=\"curve\"{1} points=\"{2}\"/>\n{3}</g>\n",
      color_of(curve), dashes(curve.stroke), path, marks);
}

std::string legend(const PlotPanel& panel, const Axes& axes) {
  std::string text;
  const double x = axes.right() + 16;
  double y = axes.top() + 6;
  for (const PlotCurve& curve : panel.curves) {
    text += fmt::format(
        "<line class=\"curve\" stroke=\"{}\"{} x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" "
        "y2=\"{:.1f}\"/>\n",
        color_of(curve), dashes(curve.stroke), x, y, x + kLegendStroke, y);
    text += label(x + kLegendStroke + 8, y + 4, "start", curve.name);
    y += kLegendLine;
  }
  return text;
}

}  // namespace

std::string svg_plot(std::string_view title, std::span<const PlotPanel> panels) {
  std::string body;
  double top = kTitleHeight;
  for (const PlotPanel& panel : panels) {
    const Axes axes(panel, top);
    if (axes.is_empty()) continue;
    body += grid(panel, axes);
    for (const PlotCurve& curve : panel.curves) body += curve_text(curve, axes);
    body += legend(panel, axes);
    top += std::max(kPanelHeight, kTop + kLegendLine * static_cast<double>(panel.curves.size() + 1));
  }
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
             "{1}\">\n",
             kWidth, top) +
         std::string(kStyle) +
         fmt::format("<rect class=\"back\" width=\"{}\" height=\"{}\"/>\n", kWidth, top) +
         label(kLeft, 28, "start", title) + body + "</svg>\n";
}

}  // namespace indexshare::cli
