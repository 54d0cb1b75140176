#pragma once

#include <string>
#include <vector>

#include "bindings/cli/chart.hpp"

namespace lacuna::cli {

/// Where on a chart a value lies, and which values are written beside it.
struct ChartAxis {
  struct Tick {
    double place = 0;  ///< 0: at the low end, 1: at the high one
    std::string text;
  };

  bool logarithmic = false;
  double low = 0;   ///< of the values, or of their decimal logarithms
  double high = 1;  ///< more than that
  std::vector<Tick> ticks{};

  double place(double value) const;
};

/// From the first of these values to the last.
ChartAxis x_axis(const std::vector<double>& x);
/// From 0, or from a power of ten, to the largest value.
ChartAxis y_axis(const Chart& chart);

}  // namespace lacuna::cli
