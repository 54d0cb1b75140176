#pragma once

#include <mutex>
#include <vector>

#include "runtime/graph/algorithm.hpp"

namespace lacuna {

/// Builds and verifies the graphs of all positions, in place and not. Errors name the numbers of ranks and hosts.
Status check_graphs(const Algorithm& algorithm, const Hosts& hosts);

/// Remembers on which hosts the graphs of registered algorithms were verified. Any thread may call.
class VerifiedGraphs {
 public:
  /// Verifies the graphs of 1 to 16 ranks. From then on verify() serves the algorithm.
  Status begin(const Algorithm& algorithm);
  /// Verifies the graphs that a call on these hosts needs, unless that was done before.
  Status verify(const Algorithm& algorithm, const Hosts& hosts);

 private:
  struct Entry {
    const Algorithm* algorithm;
    std::vector<Hosts> verified;
  };

  std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace lacuna
