#include "algorithms/phases/ring_phases.hpp"
#include "runtime/graph/algorithm.hpp"

namespace lacuna {
namespace {

void build(GraphBuilder& g) {
  const Line ring = whole_ring(g);
  const Rank n = ring.size(), me = ring.own;
  for (Rank d = 1; d < n; ++d) g.send(g.mappable(g.input(ring.wrap(me + d))), ring.at(me + d));
  if (n == 1) g.copy(g.output(me), g.input(me));
  for (Rank d = 1; d < n; ++d) g.receive_reduce(g.output(me), d == 1 ? g.input(me) : g.output(me), ring.at(me - d));
  g.finish(g.output(me), n);
  const Region sum = g.mappable(g.output(me));
  for (Rank d = 1; d < n; ++d) g.send(sum, ring.at(me + d));
  for (Rank d = 1; d < n; ++d) g.receive(g.output(ring.wrap(me - d)), ring.at(me - d));
}

}  // namespace

// Position i owns piece i. Each rank sends every other rank the piece that this one owns. The owner adds up what comes,
// in the order of the distances, and sends the sum to all others. Inside a host, where all reach each other's memory at
// once, this needs the fewest changes of the turn for the least bytes. If the caller's memory can't be reached, copies
// are sent, of which that of the sum serves all others.
// It takes 2 rounds, in each of which a rank sends P-1 messages. Each rank sends 2(P-1)/P of the data.
extern const Algorithm allreduce_direct;
const Algorithm allreduce_direct = {
    .collective = Collective::Allreduce,
    .name = "direct",
    .summary = "2 rounds of P-1 messages, 2(P-1)/P of the data per rank; inside a host",
    .symmetric = true,
    .maps_copies = true,
    .build = build,
};

}  // namespace lacuna
