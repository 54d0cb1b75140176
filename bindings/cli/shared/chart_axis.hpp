#pragma once

#include <string>
#include <vector>

#include "bindings/cli/shared/chart.hpp"

namespace lacuna::cli {

/// Where on a chart a value lies, and which values are written beside it.
struct ChartAxis {
  struct Tick {
    double place = 0;  ///< 0: at the low end, 1: at the high one
    std::string text;
  };

  bool logarithmic = false;
  double low = 0;    ///< the least of the values, or of their decimal logarithms
  double high = 1;   ///< the largest; it is more than `low`
  double least = 0;  ///< smaller values lie on the lowest line of a logarithmic axis
  std::vector<Tick> ticks{};

  double place(double value) const;
};

/// Makes an axis from the first place of all lines to the last.
ChartAxis x_axis(const Chart& chart);
/// Makes an axis from 0, or from the least value, to the largest one. A logarithmic one has the few powers of ten below
/// the largest value.
ChartAxis y_axis(const Chart& chart);

}  // namespace lacuna::cli
