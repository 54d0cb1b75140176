#pragma once

#include <string>

namespace lacuna::cli {

/// What `lacuna compare` was asked.
struct CompareOptions {
  std::string before, after;   ///< files of `lacuna perf -J`
  double tolerance = 0.1;      ///< a time may be so much longer, as a share of the one before
  bool allow_missing = false;  ///< `after` may lack what `before` has
};

/// Prints what the first file measured beside the second, with the ratio of the times. Returns 0; 1 if a time grew by
/// more than the tolerance, a result is wrong that was not, or is missing; 2 if the files can't be compared.
int compare(const CompareOptions& options);

}  // namespace lacuna::cli
