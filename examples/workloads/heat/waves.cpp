#include "examples/workloads/heat/waves.hpp"

#include <cmath>
#include <numbers>

#include "examples/workloads/fashion_mnist/random.hpp"

namespace lacuna::workloads {
namespace {

/// Returns sin(number * place) at each point of a side. With a border the first point lies one spacing behind it.
std::vector<double> sines(std::size_t points, double spacing, double number, bool periodic) {
  std::vector<double> all(points);
  for (std::size_t i = 0; i < points; ++i) {
    all[i] = std::sin(number * spacing * static_cast<double>(periodic ? i : i + 1));
  }
  return all;
}

}  // namespace

double Wave::at_time(double time) const {
  return amplitude * std::exp(-(along_rows * along_rows + along_columns * along_columns) * time);
}

Waves::Waves(const HeatOptions& options, std::uint64_t seed)
    : row_spacing_(1 / static_cast<double>(options.periodic ? options.rows : options.rows + 1)),
      column_spacing_(1 / static_cast<double>(options.periodic ? options.columns : options.columns + 1)) {
  SplitMix random(seed, 0);
  const double unit = options.periodic ? 2 * std::numbers::pi : std::numbers::pi;
  const auto number = [&] { return unit * static_cast<double>(1 + random.below(options.highest_wave)); };
  for (std::size_t i = 0; i < options.waves; ++i) {
    const double amplitude = random.signed_unit();
    const double along_rows = number(), along_columns = number();
    waves_.push_back({amplitude, along_rows, along_columns});
    in_rows_.push_back(sines(options.rows, row_spacing_, along_rows, options.periodic));
    in_columns_.push_back(sines(options.columns, column_spacing_, along_columns, options.periodic));
  }
  move_to(0);
}

void Waves::move_to(double time) {
  heights_.clear();
  for (const Wave& wave : waves_) heights_.push_back(wave.at_time(time));
}

double Waves::value(std::size_t row, std::size_t column) const {
  double sum = 0;
  for (std::size_t i = 0; i < heights_.size(); ++i) sum += heights_[i] * in_rows_[i][row] * in_columns_[i][column];
  return sum;
}

}  // namespace lacuna::workloads
