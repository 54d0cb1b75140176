#pragma once

#include <string>
#include <vector>

namespace lacuna::cli {

/// The values of one number over time, in one colour.
struct ChartLine {
  std::string label;
  std::vector<double> values;  ///< not negative; a value that is not finite interrupts the line
};

/// A frame with a line for each label.
struct Chart {
  std::string title;
  bool logarithmic = false;  ///< upwards; values far below all others then lie on the lowest line, as zeros do
  std::vector<ChartLine> lines;
};

/// Charts beside and below each other. All have the same labels in the same order, and the same places to the right.
struct ChartSheet {
  std::string title;
  std::string x_title;
  std::vector<double> x;  ///< ascending, with one for each value
  std::vector<Chart> charts;
};

/// Returns the sheet as an SVG picture.
std::string to_svg(const ChartSheet& sheet);

}  // namespace lacuna::cli
