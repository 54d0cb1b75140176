#pragma once

#include <string>

#include "runtime/algorithm.hpp"

namespace lacuna::cli {

/// What `lacuna explain` was asked.
struct ExplainOptions {
  Collective collective = Collective::Allreduce;
  std::size_t bytes = 1 << 20;  ///< count times element size
  Rank ranks = 4;
  std::string algorithm;
  double latency = 20e-6;  ///< seconds from one rank to another
  double rate = 125e6;     ///< bytes per second and rank, each way
};

/// What an algorithm's graphs cost, counted in the graphs themselves.
struct Cost {
  int steps = 0;                  ///< messages in the longest chain of which each waits for the one before
  std::uint64_t most_bytes = 0;   ///< that one rank sends or receives
  std::uint64_t total_bytes = 0;  ///< that all ranks send

  /// Predicted: the chain's latencies, and the busiest rank's bytes over its link.
  double seconds(double latency, double rate) const;
};

/// Of one call of `count` elements of `width` bytes, in one part.
Cost cost_of(const Algorithm& algorithm, Rank ranks, std::size_t count, std::size_t width);

int explain(const ExplainOptions& options);

}  // namespace lacuna::cli
