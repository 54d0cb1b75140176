#pragma once

#include <mutex>
#include <string_view>
#include <vector>

#include "runtime/graph/algorithm.hpp"

namespace lacuna {

/// The graphs of all positions, built and verified, in place and not. Errors name the numbers of ranks and hosts.
Status check_graphs(const Algorithm& algorithm, const Hosts& hosts);

/// Algorithms that the program has brought. Any thread may call.
class RegisteredAlgorithms {
 public:
  /// Unless its graphs are wrong; its name must be new.
  Status add(const Algorithm& algorithm);
  /// Null if there is none of that name.
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
