#include "bindings/cli/shared/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "bindings/cli/shared/chart_axis.hpp"

namespace lacuna::cli {
namespace {

// All lengths are in pixels.
constexpr std::size_t columns = 2;
constexpr double chart_width = 480, chart_height = 250;
constexpr double left = 64, right = 16, top = 34, bottom = 42;  // around the frame of a chart
constexpr double frame_width = chart_width - left - right, frame_height = chart_height - top - bottom;
constexpr double title_height = 36, legend_line = 20;
constexpr std::size_t most_marked = 60;  // a line with more values has no dots

/// The colour-blind can tell these colours apart. Further lines are dashed.
constexpr std::array colours = {"#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"};
constexpr std::array dashes = {"", " stroke-dasharray=\"6 3\"", " stroke-dasharray=\"2 2\""};

using Out = std::back_insert_iterator<std::string>;

std::string escaped(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '&') {
      result += "&amp;";
    } else if (letter == '<') {
      result += "&lt;";
    } else if (letter == '>') {
      result += "&gt;";
    } else {
      result += static_cast<unsigned char>(letter) < 0x20 ? ' ' : letter;
    }
  }
  return result;
}

std::string stroke(std::size_t line) {
  return fmt::format("stroke=\"{}\"{}", colours[line % colours.size()], dashes[line / colours.size() % dashes.size()]);
}

/// A chart's frame, at its place on the sheet.
struct Frame {
  double x = 0, y = 0;  ///< the upper left corner
  ChartAxis across, upwards;

  double x_of(double value) const { return x + frame_width * across.place(value); }
  double y_of(double value) const { return y + frame_height * (1 - upwards.place(value)); }
};

void add_axes(const Frame& frame, const Chart& chart, Out out) {
  const double low = frame.y + frame_height;
  for (const ChartAxis::Tick& tick : frame.upwards.ticks) {
    const double y = low - frame_height * tick.place;
    fmt::format_to(out, "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#dddddd\"/>\n", frame.x,
                   y, frame.x + frame_width, y);
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", frame.x - 6, y + 4,
                   escaped(tick.text));
  }
  for (const ChartAxis::Tick& tick : frame.across.ticks) {
    const double x = frame.x + frame_width * tick.place;
    fmt::format_to(out, "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#333333\"/>\n", x, low,
                   x, low + 4);
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", x, low + 17,
                   escaped(tick.text));
  }
  fmt::format_to(
      out, "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" stroke=\"#333333\"/>\n",
      frame.x, frame.y, frame_width, frame_height);
  fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" font-weight=\"bold\">{}</text>\n", frame.x, frame.y - 10,
                 escaped(chart.title));
  fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", frame.x + frame_width / 2,
                 low + 33, escaped(chart.x_title));
}

/// Draws the line, which is interrupted where a value is missing.
void add_line(const Frame& frame, const ChartLine& line, std::size_t number, Out out) {
  const std::size_t count = std::min(line.x.size(), line.values.size());
  std::string points;
  const auto end_stretch = [&] {
    if (!points.empty()) {
      fmt::format_to(out, "<polyline fill=\"none\" stroke-width=\"1.5\" {} points=\"{}\"/>\n", stroke(number), points);
    }
    points.clear();
  };
  for (std::size_t i = 0; i < count; ++i) {
    if (!std::isfinite(line.values[i])) {
      end_stretch();
      continue;
    }
    const double at = frame.x_of(line.x[i]), height = frame.y_of(line.values[i]);
    points += fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", at, height);
    if (count > most_marked) continue;
    fmt::format_to(out, "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2\" fill=\"{}\"/>\n", at, height,
                   colours[number % colours.size()]);
  }
  end_stretch();
}

void add_legend(const Chart& chart, Out out) {
  for (std::size_t i = 0; i < chart.lines.size(); ++i) {
    const double y = title_height + legend_line * (static_cast<double>(i) + 0.5);
    fmt::format_to(out, "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke-width=\"2\" {}/>\n", left,
                   y, left + 28, y, stroke(i));
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", left + 36, y + 4, escaped(chart.lines[i].label));
  }
}

}  // namespace

std::string to_svg(const ChartSheet& sheet) {
  const std::size_t rows = (sheet.charts.size() + columns - 1) / columns;
  const std::size_t labels = sheet.charts.empty() ? 0 : sheet.charts.front().lines.size();
  const double head = title_height + legend_line * static_cast<double>(labels) + 8;
  const double width = chart_width * columns, height = head + chart_height * static_cast<double>(rows);
  std::string svg;
  Out out(svg);
  fmt::format_to(out,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
                 "{1:.0f}\" font-family=\"sans-serif\" font-size=\"11\">\n"
                 "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
                 "<text x=\"{2:.1f}\" y=\"24\" font-size=\"15\">{3}</text>\n",
                 width, height, left, escaped(sheet.title));
  if (!sheet.charts.empty()) add_legend(sheet.charts.front(), out);
  for (std::size_t i = 0; i < sheet.charts.size(); ++i) {
    const Chart& chart = sheet.charts[i];
    const Frame frame{.x = chart_width * static_cast<double>(i % columns) + left,
                      .y = head + chart_height * static_cast<double>(i / columns) + top,
                      .across = x_axis(chart),
                      .upwards = y_axis(chart)};
    add_axes(frame, chart, out);
    for (std::size_t line = 0; line < chart.lines.size(); ++line) add_line(frame, chart.lines[line], line, out);
  }
  return svg + "</svg>\n";
}

}  // namespace lacuna::cli
