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

/// The median of times, and their spread. There is at least one time.
Timing summary_of(std::vector<double> seconds);

/// Makes so many iterations, and times them together.
Result<Timing> time_iterations(Bench& bench, int iterations);

/// Makes batches of iterations until the times of five of them in a row differ by 5 % at most, and returns their
/// median. A batch takes a few milliseconds, or one iteration. After half a second it is content with less. So what
/// happens only at the beginning, such as first touches of memory, does not count.
Result<Timing> time_until_stable(Bench& bench);

/// Sends as much between all ranks as fills the buffers of their connections. The first bytes that go through a
/// connection take longer, and would count as time of the first size.
Status warm_connections(Communicator& communicator);

}  // namespace lacuna::cli
