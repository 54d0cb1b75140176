#include "bindings/cli/shared/chart_axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

namespace lacuna::cli {
namespace {

constexpr double most_ticks = 6;
constexpr double most_powers = 4;  // how many powers of ten a logarithmic axis spans

/// Returns a text such as "1.5M", for bytes and steps.
std::string short_text(double value) {
  constexpr std::array<std::pair<double, std::string_view>, 4> units = {
      {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
  for (const auto& [size, letter] : units) {
    if (value >= size) return fmt::format("{:.4g}{}", value / size, letter);
  }
  return fmt::format("{:.4g}", value);
}

/// Returns 1, 2 or 5 times a power of ten: the smallest such number that is at least `step`.
double round_step(double step) {
  const double power = std::pow(10, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= step * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

ChartAxis linear(double low, double high) {
  ChartAxis axis{.logarithmic = false, .low = low, .high = high};
  const double step = round_step((high - low) / most_ticks);
  for (double count = std::ceil(low / step); count * step <= high; ++count) {
    axis.ticks.push_back({axis.place(count * step), short_text(count * step)});
  }
  return axis;
}

/// Makes an axis of powers of ten. If any value is less, it gets a line below them.
ChartAxis powers_of_ten(double smallest, double largest, bool with_zero) {
  const double last = std::ceil(std::log10(largest));
  const double lowest = std::min(std::floor(std::log10(smallest)), last - 1);
  const double first = std::max(lowest, last - most_powers);
  const bool with_less = with_zero || first > lowest;
  ChartAxis axis{.logarithmic = true,
                 .low = with_less ? first - 1 : first,
                 .high = last,
                 .least = std::pow(10, first) * (1 - 1e-9)};
  if (with_less) axis.ticks.push_back({0, first > lowest ? fmt::format("<1e{:g}", first) : "0"});
  for (double power = first; power <= last; ++power) {
    axis.ticks.push_back({(power - axis.low) / (axis.high - axis.low), fmt::format("1e{:g}", power)});
  }
  return axis;
}

}  // namespace

double ChartAxis::place(double value) const {
  if (logarithmic && value < least) return 0;
  return ((logarithmic ? std::log10(value) : value) - low) / (high - low);
}

ChartAxis x_axis(const Chart& chart) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const ChartLine& line : chart.lines) {
    if (line.x.empty()) continue;
    low = std::min(low, line.x.front());
    high = std::max(high, line.x.back());
  }
  if (low > high) return linear(-0.5, 0.5);
  return low < high ? linear(low, high) : linear(low - 0.5, low + 0.5);
}

ChartAxis y_axis(const Chart& chart) {
  double smallest = 0, largest = 0;  // only of values above 0
  bool with_zero = false;
  for (const ChartLine& line : chart.lines) {
    for (const double value : line.values) {
      if (!std::isfinite(value)) continue;
      with_zero = with_zero || value <= 0;
      if (value <= 0) continue;
      smallest = smallest > 0 ? std::min(smallest, value) : value;
      largest = std::max(largest, value);
    }
  }
  if (largest <= 0) return linear(0, 1);
  if (chart.scale == ChartScale::Logarithmic) return powers_of_ten(smallest, largest, with_zero);
  const double margin = 0.05 * (largest - smallest);
  if (chart.scale == ChartScale::FromZero || with_zero || margin <= 0) return linear(0, largest * 1.05);
  return linear(smallest - margin, largest + margin);
}

}  // namespace lacuna::cli
