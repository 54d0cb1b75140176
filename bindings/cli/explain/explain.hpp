#pragma once

#include <optional>
#include <string>

#include "runtime/graph/algorithm.hpp"
#include "runtime/graph/plan.hpp"

namespace lacuna::cli {

/// What `lacuna explain` was asked.
struct ExplainOptions {
  Collective collective = Collective::Allreduce;
  std::size_t bytes = 1 << 20;                 ///< count times element size
  Hosts hosts{std::vector<Rank>{0, 1, 2, 3}};  ///< of the ranks
  std::string algorithm{};
  MethodOptions method{};           ///< what the call gives up
  double density = 1;               ///< of what comes in: share of each rank's elements that are not zero
  std::optional<double> fill_in{};  ///< s ranks have s^fill_in times the entries of one; none: each has drawn its own
  double latency = 20e-6;           ///< seconds from one rank to another
  double rate = 125e6;              ///< bytes per second and host, each way
};

/// What an algorithm's graphs cost, counted in the graphs themselves.
struct Cost {
  int steps = 0;                  ///< messages in the longest chain of which each waits for the one before
  std::uint64_t rank_bytes = 0;   ///< most that one rank sends or receives
  std::uint64_t host_bytes = 0;   ///< most that one host sends to others or receives from them
  std::uint64_t total_bytes = 0;  ///< that all ranks send
  bool depends_on_data = false;   ///< more is sent: as much as values say, which only a call knows

  /// Predicted: the chain's latencies, and the busiest host's bytes over its link.
  double seconds(double latency, double rate) const;
};

/// Of one call of `count` elements of `dtype`, in one part. What lies in buffers of another type counts as of that.
Cost cost_of(const Algorithm& algorithm, const Hosts& hosts, std::size_t count, Dtype dtype,
             const Structure& structure = {});

/// Of the parts of such a call's first run that carry the result, one that is not dense; without any, the first.
PartPlan part_of(const Call& call, const Algorithm& algorithm, const Hosts& hosts);

/// Does it depend on the data what such a call sends, and so what its result lacks?
bool depends_on_data(const Call& call, const Hosts& hosts);

/// "1.25 MiB".
std::string name_bytes(double bytes);

/// Whose values are in the result of such a call.
struct Contributors {
  Rank fewest = 0;  ///< to an element; 0: nothing is reduced
  double mean = 0;
};

Contributors contributors_of(const Algorithm& algorithm, const Hosts& hosts, std::size_t count,
                             const Structure& structure);

int explain(const ExplainOptions& options);

}  // namespace lacuna::cli
