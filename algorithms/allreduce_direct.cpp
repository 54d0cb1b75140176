#include "algorithms/phases/direct_phases.hpp"
#include "algorithms/phases/ring_phases.hpp"
#include "runtime/graph/algorithm.hpp"

namespace lacuna {
namespace {

void build_allreduce_direct(GraphBuilder& g) {
  const Line all = whole_ring(g);
  const auto output = [&](Rank piece) { return g.output(piece); };
  direct_reduce_scatter(
      g, all, [&](Rank piece) { return g.input(piece); }, output);
  g.finish(output(all.own), all.size());
  direct_allgather(g, all, output);
}

}  // namespace

// Position i owns piece i. It gets this piece of all others, and sends them the sum (direct_phases.hpp). Inside a host,
// where all reach each other's memory at once, this needs the fewest changes of the turn for the least bytes.
// It takes 2 rounds, in each of which a rank sends P-1 messages. Each rank sends 2(P-1)/P of the data.
extern const Algorithm allreduce_direct;
const Algorithm allreduce_direct = {
    .collective = Collective::Allreduce,
    .name = "direct",
    .summary = "2 rounds of P-1 messages, 2(P-1)/P of the data per rank; inside a host",
    .symmetric = true,
    .maps_copies = true,
    .build = build_allreduce_direct,
};

}  // namespace lacuna
