#pragma once

#include <string>
#include <vector>

namespace lacuna::cli {

/// The values of one number, in one colour.
struct ChartLine {
  std::string label;
  std::vector<double> x;       ///< places to the right; ascending, with one for each value
  std::vector<double> values;  ///< not negative; a value that is not finite interrupts the line
};

/// Where the lowest line of a chart is.
enum class ChartScale {
  FromZero,
  FromLeast,    ///< just below the least value
  Logarithmic,  ///< values far below all others lie on the lowest line, as zeros do
};

/// A frame with a line for each label.
struct Chart {
  std::string title;
  std::string x_title;
  ChartScale scale = ChartScale::FromZero;
  std::vector<ChartLine> lines;
};

/// Charts beside and below each other. All have the same labels in the same order.
struct ChartSheet {
  std::string title;
  std::vector<Chart> charts;
};

/// Returns the sheet as an SVG picture.
std::string to_svg(const ChartSheet& sheet);

}  // namespace lacuna::cli
