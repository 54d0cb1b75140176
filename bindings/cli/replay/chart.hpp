#pragma once

#include <string>
#include <vector>

namespace lacuna::cli {

/// How a number went on, in one colour.
struct ChartLine {
  std::string label;
  std::vector<double> values;  ///< not negative; one that is not finite is a gap
};

/// A frame with a line for each label.
struct Chart {
  std::string title;
  bool logarithmic = false;  ///< upwards; what is far below all others then lies on the lowest line, as zeros do
  std::vector<ChartLine> lines;
};

/// Charts beside and below each other that have the same labels, in the same order, and the same places to the right.
struct ChartSheet {
  std::string title;
  std::string x_title;
  std::vector<double> x;  ///< ascending, one for each value
  std::vector<Chart> charts;
};

/// The sheet as an SVG picture.
std::string to_svg(const ChartSheet& sheet);

}  // namespace lacuna::cli
