#pragma once

#include <string>

namespace lacuna::cli {

/// The arguments of `lacuna compare`.
struct CompareOptions {
  std::string before, after;   ///< files of `lacuna perf -J`
  double tolerance = 0.1;      ///< how much longer a time may be, as a share of the one before
  bool allow_missing = false;  ///< `after` may lack what `before` has
  bool json = false;           ///< print JSON
};

/// Prints what both files measured, with the ratio of the times. Returns 0. It returns 1 if a
/// time grew by more than the tolerance, or if a result is missing or newly wrong, and 2 if the files can't be
/// compared.
int compare(const CompareOptions& options);

}  // namespace lacuna::cli
