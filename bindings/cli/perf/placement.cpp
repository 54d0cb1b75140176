#include "bindings/cli/perf/placement.hpp"

#include <sched.h>

#include <vector>

#include "bindings/cli/perf/method.hpp"
#include "runtime/values/processors.hpp"

namespace lacuna::cli {

Result<bool> ranks_share_processors(Communicator& communicator) {
  const int own = ::sched_getcpu();  // it is read first, because this thread may move while it waits
  const auto hosts = communicator.hosts();
  const auto rank = static_cast<std::size_t>(communicator.rank());
  std::vector<int> processors(hosts.size());
  if (Status gathered = communicator.call(allgather(std::span(&own, 1), std::span(processors))); !gathered) {
    return gathered;
  }
  int ranks_here = 0, on_own = 0;
  for (std::size_t other = 0; other < hosts.size(); ++other) {
    if (hosts[other] != hosts[rank]) continue;
    ++ranks_here;
    on_own += processors[other] == own;
  }
  double shares = own >= 0 && on_own > 1 && ranks_here <= usable_processors() ? 1 : 0;
  if (Status agreed = over_ranks(communicator, Reduction::Max, shares); !agreed) return agreed;
  return shares > 0;
}

}  // namespace lacuna::cli
