#pragma once

#include <optional>
#include <string>

#include "bindings/cli/shared/message_times.hpp"
#include "bindings/cli/shared/pattern.hpp"
#include "runtime/values/call.hpp"
#include "runtime/values/hosts.hpp"

namespace lacuna::cli {

/// The arguments of `lacuna explain`.
struct ExplainOptions {
  Collective collective = Collective::Allreduce;
  std::size_t bytes = 1 << 20;                 ///< count times element size
  Hosts hosts{std::vector<Rank>{0, 1, 2, 3}};  ///< the hosts of the ranks
  std::string algorithm{};
  MethodOptions method{};           ///< what the call gives up
  double density = 1;               ///< which share of each rank's elements is not zero in the input
  std::optional<double> fill_in{};  ///< s ranks have s^fill_in times the entries of one; none: as the pattern says
  PatternOptions pattern{};         ///< how entries lie; its density does not count
  double latency = 20e-6;           ///< seconds from one rank to another
  double rate = 125e6;              ///< bytes per second and host, each way
  int processors = 2;               ///< of each host
  MessageTimes inside = MessageTimes::of_reference();  ///< how long messages inside a host take
  bool json = false;                                   ///< print JSON
};

/// Prints which algorithm is taken, why, and what each costs. Returns the exit code.
int explain(const ExplainOptions& options);

}  // namespace lacuna::cli
