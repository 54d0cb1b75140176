#pragma once

#include "bindings/cli/perf/bench.hpp"

namespace lacuna::cli {

/// How long one iteration takes.
struct Timing {
  double seconds = 0;  ///< on the slowest rank
  double payload = 0;  ///< bytes, on the rank that has sent most
  int iterations = 0;  ///< that were made
  double spread = 0;   ///< of the times of the last batches: the largest less the smallest, as a share of the median
};

/// Returns the median of these times, and their spread. There is at least one time.
Timing summary_of(std::vector<double> seconds);

/// Makes so many iterations, and times them together.
Result<Timing> time_iterations(Bench& bench, int iterations);

/// Makes batches of iterations until the times of the last five batches differ by 5 % at most, or until all batches
/// together have taken half a second. Returns the median of the last five. So what happens only at the beginning, such
/// as the first use of memory, does not count. A batch has one iteration, or as many as take 2 milliseconds.
Result<Timing> time_until_stable(Bench& bench);

/// Sends some megabytes between all ranks. The first bytes that go through a connection take longer than all others,
/// because they touch new memory. Else their time would belong to the first sizes that are measured. All ranks call it.
Status warm_connections(Communicator& communicator);

}  // namespace lacuna::cli
