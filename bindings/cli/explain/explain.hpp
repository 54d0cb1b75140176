#pragma once

#include <optional>
#include <string>

#include "bindings/cli/shared/pattern.hpp"
#include "runtime/graph/algorithm.hpp"
#include "runtime/graph/plan.hpp"

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
};

/// What an algorithm costs, counted in its graphs.
struct Cost {
  int steps = 0;                  ///< rounds: messages in the longest chain in which each waits for the one before
  std::uint64_t rank_bytes = 0;   ///< the most that one rank sends or receives
  std::uint64_t host_bytes = 0;   ///< the most that one host sends to others or receives from them
  std::uint64_t total_bytes = 0;  ///< what all ranks send
  bool depends_on_data = false;   ///< more is sent, as much as values say, which only a call knows

  /// Returns the predicted time: the latencies of the chain, and the busiest host's bytes over its link.
  double seconds(double latency, double rate) const;
};

/// Counts the cost of one call of `count` elements of `dtype` in one part. Data in buffers of another type count as of
/// `dtype`.
Cost cost_of(const Algorithm& algorithm, const Hosts& hosts, std::size_t count, Dtype dtype,
             const Structure& structure = {});

/// Returns a part of such a call's first run that carries the result: one that is not dense, or else the first.
PartPlan part_of(const Call& call, const Algorithm& algorithm, const Hosts& hosts);

/// Does what such a call sends, and so what its result lacks, depend on the data?
bool depends_on_data(const Call& call, const Hosts& hosts);

/// Returns a text such as "1.25 MiB".
std::string name_bytes(double bytes);

/// How many ranks' values are in the result of such a call.
struct Contributors {
  Rank fewest = 0;  ///< the fewest to an element; 0: nothing is reduced
  double mean = 0;
};

Contributors contributors_of(const Algorithm& algorithm, const Hosts& hosts, std::size_t count,
                             const Structure& structure);

int explain(const ExplainOptions& options);

}  // namespace lacuna::cli
