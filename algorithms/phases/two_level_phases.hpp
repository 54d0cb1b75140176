#pragma once

#include "algorithms/phases/grid_phases.hpp"
#include "algorithms/phases/replacement.hpp"
#include "algorithms/phases/tree_phases.hpp"

namespace lacuna {

/// The ring allreduce among the leaders of hosts of different sizes, over what their hosts have summed, without the
/// first `skip` rounds of its reduction. When hosts are rotated, each is there equally often, but not among equally
/// many ranks.
inline void ring_of_leaders(GraphBuilder& g, const Line& leaders, Region sum, int skip) {
  const Rank n = leaders.size();
  const auto output = [&](Rank i) { return g.output(i, i + 1, n); };
  const auto so_far = [&](Rank i) { return sum == g.output() ? output(i) : g.input(i, i + 1, n); };
  const auto ranks_of = [&](Rank leader) { return g.hosts().ranks_on(g.hosts().host_of(leaders.at(leader))); };
  const Brings first = ranks_of(leaders.own - 1) > 1 ? Brings::Sum : Brings::Term;
  ring_reduce_scatter(g, leaders, so_far, [&](Rank, Rank i) { return output(i); }, {skip, first});
  Rank contributors = g.size();
  for (Rank behind = 1; behind <= skip; ++behind) contributors -= ranks_of(leaders.own + behind);
  g.finish(output(leaders.own), contributors, note_of({n - skip, n}));
  ring_allgather(g, leaders, output);
}

/// Allreduce inside each host, then between hosts, then inside each host again. If all hosts have the same number of
/// ranks, it is a grid whose rows are the hosts; the ranks of a host exchange their pieces all at once
/// (grid_allreduce). Otherwise a binomial tree on each host reduces to a leader, the leaders do a ring allreduce, and
/// the trees broadcast its result. Without the first `skip` rounds between hosts, the terms of `skip` hosts are
/// missing. Source: Jia et al., Highly scalable deep learning training system with mixed-precision (2018).
inline void two_level_allreduce(GraphBuilder& g, int skip = 0) {
  const Topology hosts = Topology::two_level(g.hosts());
  if (g.hosts().ranks_on_each() > 0) return grid_allreduce(g, hosts, {.in_columns = skip}, RowExchange::Direct);
  const Region sum = tree_reduce(g, hosts, g.input(), g.output());
  if (!hosts.parent(g.position())) ring_of_leaders(g, hosts.line(g.position(), 0), sum, skip);
  tree_broadcast(g, hosts, g.output());
}

}  // namespace lacuna
