#include "bindings/cli/shared/zipf.hpp"

#include <algorithm>
#include <cmath>

namespace lacuna::cli {
namespace {

/// Returns the sum of 1 / (r + 1) over a stretch of rows. Behind the first rows it takes the integral instead.
double harmonic(double first, double length) {
  constexpr double summed = 32;
  double sum = 0;
  for (; first < summed && length >= 1; ++first, --length) sum += 1 / (first + 1);
  return sum + std::log((first + length + 0.5) / (first + 0.5));
}

}  // namespace

ZipfRows::ZipfRows(double density, std::size_t rows) : rows_(rows) {
  double low = 0, high = -std::log1p(-density) * static_cast<double>(rows);  // the last row alone is then so likely
  for (int i = 0; i < 50; ++i) {
    weight_ = (low + high) / 2;
    (share(1, 1, 1) < density ? low : high) = weight_;
  }
}

bool ZipfRows::has(double drawn, std::size_t row) const {
  const double expected = weight_ / (static_cast<double>(row) + 1);
  return drawn < expected && drawn < -std::expm1(-expected);  // the first comparison is enough for most rows
}

/// Stretches far from the first row differ little from their neighbours, so that one stands for many.
double ZipfRows::share(double ranks, double length, double step) const {
  constexpr double alike = 128;
  const double stretches = std::ceil(static_cast<double>(rows_) / step);
  double sum = 0;
  for (double begin = 0; begin < stretches;) {
    const double end = std::min(stretches, begin + std::floor(1 + begin / alike));
    const double first = std::floor((begin + end - 1) / 2 * step);
    sum -= (end - begin) * std::expm1(-ranks * weight_ * harmonic(first, length));
    begin = end;
  }
  return stretches > 0 ? sum / stretches : 0;
}

}  // namespace lacuna::cli
