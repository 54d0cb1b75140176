#pragma once

#include <cstddef>

namespace lacuna::cli {

/// Which rows of an embedding table a rank's batch touches. The batch looks rows up by Zipf's law with exponent 1: the
/// chance of row r falls as 1 / (r + 1), as in a table that is sorted by frequency. The number of look-ups has a
/// Poisson distribution, so rows are independent of each other. Row r is touched by the chance 1 - exp(-w / (r + 1)),
/// and by s ranks together by 1 - exp(-s w / (r + 1)).
class ZipfRows {
 public:
  ZipfRows() = default;
  /// Chooses w so that a batch touches a share `density` of `rows` rows on average; 0 <= density < 1.
  ZipfRows(double density, std::size_t rows);

  /// Is the row touched if the uniform number in [0, 1) was drawn for it?
  bool has(double drawn, std::size_t row) const;
  /// Returns the chance that a stretch of `length` rows, which begins at a multiple of `step` rows, has a row that any
  /// of `ranks` ranks touches. It is the mean over all such stretches. `step` may be any positive number.
  double share(double ranks, double length, double step) const;

 private:
  std::size_t rows_ = 0;
  double weight_ = 0;
};

}  // namespace lacuna::cli
