#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "examples/workloads/heat/heat.hpp"

namespace lacuna::workloads {

/// A solution of u_t = u_xx + u_yy on the unit square. With the wave numbers a and b it is
/// amplitude * sin(a x) * sin(b y) * exp(-(a^2 + b^2) t).
struct Wave {
  double amplitude = 0;
  double along_rows = 0, along_columns = 0;  ///< wave numbers, in radians

  /// Returns the amplitude at a time.
  double at_time(double time) const;
};

/// A sum of waves at the points of a grid.
class Waves {
 public:
  /// The seed draws the amplitudes and the wave numbers.
  Waves(const HeatOptions& options, std::uint64_t seed);

  /// The distance of two points, along a column and along a row.
  double row_spacing() const { return row_spacing_; }
  double column_spacing() const { return column_spacing_; }

  /// Makes value() return the temperatures at this time.
  void move_to(double time);
  double value(std::size_t row, std::size_t column) const;

 private:
  std::vector<Wave> waves_;
  double row_spacing_, column_spacing_;
  std::vector<double> heights_;                            // of each wave, now
  std::vector<std::vector<double>> in_rows_, in_columns_;  // sines by wave and point
};

}  // namespace lacuna::workloads
