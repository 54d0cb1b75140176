#pragma once

#include <cstddef>
#include <vector>

#include "bindings/cli/perf/bench.hpp"

namespace lacuna::cli {

/// Reduces one number of each rank.
Status over_ranks(Communicator& communicator, Reduction reduction, double& value);

/// Makes the call once, from an empty state, and compares its result with the exact one. It counts how many elements
/// are wrong. If the call may lose what its data say, it takes the error instead.
Status check_once(Bench& bench, std::size_t chunk_bytes, PerfFigures& figures);

/// Says what one call has left out, over all ranks.
Status measure_report(Bench& bench, const Report& mine, PerfReport& report);

/// Measures how much of the time kernels take in the calls that are made while it lives.
class Phases {
 public:
  explicit Phases(Bench& bench);
  /// Fills the phases. figures.iterations says how many iterations were made meanwhile. All ranks call it.
  Status measure(PerfFigures& figures);

 private:
  std::vector<double> seconds() const;

  Bench& bench_;
  std::vector<double> before_;
};

}  // namespace lacuna::cli
