#pragma once

#include <string>
#include <vector>

#include "bindings/cli/replay/chart.hpp"

namespace lacuna::cli {

/// Where on a chart a value lies, and which values are written beside it.
struct ChartAxis {
  struct Tick {
    double place = 0;  ///< 0: at the low end, 1: at the high one
    std::string text;
  };

  bool logarithmic = false;
  double low = 0;    ///< of the values, or of their decimal logarithms
  double high = 1;   ///< more than that
  double least = 0;  ///< of a logarithmic axis: what is less lies on its lowest line
  std::vector<Tick> ticks{};

  double place(double value) const;
};

/// From the first of these values to the last.
ChartAxis x_axis(const std::vector<double>& x);
/// From 0 to the largest value; logarithmic, the powers of ten below the largest value, of which there are few.
ChartAxis y_axis(const Chart& chart);

}  // namespace lacuna::cli
