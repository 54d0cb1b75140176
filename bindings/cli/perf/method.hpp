#pragma once

#include <cstddef>
#include <vector>

#include "bindings/cli/perf/bench.hpp"

namespace lacuna::cli {

/// Combines one number of each rank.
Status over_ranks(Communicator& communicator, Reduction reduction, double& value);

/// Makes the call once, from an empty state, and compares its result with the exact one: how many elements are wrong
/// or, where the call may lose what its data say, what its error is.
Status check_once(Bench& bench, std::size_t chunk_bytes, PerfFigures& figures);

/// What one call has left out, over all ranks.
Status measure_report(Bench& bench, const Report& mine, PerfReport& report);

/// The kernels' part in the time of the calls that are made during its life.
class Phases {
 public:
  explicit Phases(Bench& bench);
  /// PerfFigures::phases; called by all ranks.
  Status measure(std::vector<double>& phases);

 private:
  std::vector<double> seconds() const;

  Bench& bench_;
  std::vector<double> before_;
};

}  // namespace lacuna::cli
