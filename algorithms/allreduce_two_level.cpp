#include "algorithms/grid_phases.hpp"
#include "algorithms/tree_phases.hpp"
#include "runtime/algorithm.hpp"

namespace lacuna {
namespace {

/// The ring allreduce among the leaders, over what their hosts have summed.
void ring_of_leaders(GraphBuilder& g, const Line& leaders, Region sum) {
  const Rank n = leaders.size();
  const auto output = [&](Rank i) { return g.output(i, i + 1, n); };
  const auto so_far = [&](Rank i) { return sum == g.output() ? output(i) : g.input(i, i + 1, n); };
  ring_reduce_scatter(g, leaders, so_far, [&](Rank, Rank i) { return output(i); });
  g.finish(output(leaders.own));
  ring_allgather(g, leaders, output);
}

void build(GraphBuilder& g) {
  const Topology hosts = Topology::two_level(g.hosts());
  if (g.hosts().ranks_on_each() > 0) return grid_allreduce(g, hosts);
  const Region sum = tree_reduce(g, hosts, g.input(), g.output());
  if (!hosts.parent(g.position())) ring_of_leaders(g, hosts.line(g.position(), 0), sum);
  tree_broadcast(g, hosts, g.output());
}

}  // namespace

// Between hosts, of which there are h, goes only what must. With k ranks on each, the ranks of a host reduce-scatter
// among themselves, each completes its piece with its like on the other hosts, and the pieces are gathered again: a
// grid whose rows are the hosts (grid_allreduce). Otherwise a binomial tree on each host reduces to a leader, the
// leaders do a ring allreduce, and the trees broadcast its result (Jia et al., Highly scalable deep learning training
// system with mixed-precision, 2018).
//
// Even hosts: 2(k-1) + 2(h-1) steps; each rank sends 2(P-1)/P of the data, 2(h-1)/P of it to another host.
//
// Uneven, with k on one at most: 2 ceil(log2 k) + 2(h-1) steps at most; a leader sends 2(h-1)/h of the data to the next
// one and all of it to ceil(log2 k) others at most; each other rank sends all of it once, and to those below it.
extern const Algorithm allreduce_two_level;
const Algorithm allreduce_two_level = {
    .collective = Collective::Allreduce,
    .name = "two_level",
    .summary = "inside h hosts of k ranks, then between them: 2(k+h-2) steps, 2(P-1)/P of the data per rank",
    .symmetric = false,
    .by_hosts = true,
    .supports = nullptr,
    .build = build,
    .bind = nullptr,
};

}  // namespace lacuna
