#pragma once

#include <mutex>
#include <string_view>
#include <vector>

#include "runtime/graph/algorithm.hpp"

namespace lacuna {

/// Builds and verifies the graphs of all positions, in place and not. Errors name the numbers of ranks and hosts.
Status check_graphs(const Algorithm& algorithm, const Hosts& hosts);

/// The algorithms that a program has registered. Any thread may call.
class RegisteredAlgorithms {
 public:
  /// Adds the algorithm, which must have a new name. Refuses it if its graphs are wrong.
  Status add(const Algorithm& algorithm);
  /// Returns null if there is none of that name.
  const Algorithm* find(Collective collective, std::string_view name);
  /// Verifies the graphs that this call needs, unless that was done before.
  Status verified(const Algorithm& algorithm, const Hosts& hosts);

 private:
  struct Entry {
    const Algorithm* algorithm;
    std::vector<Hosts> verified;
  };

  std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace lacuna
