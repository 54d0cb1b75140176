#include "algorithms/phases/ring_phases.hpp"
#include "runtime/graph/algorithm.hpp"

namespace lacuna {
namespace {

/// The input stays as it is: sums on their way lie in two blocks of scratch in turn.
void build_reduce_scatter_ring(GraphBuilder& g) {
  const Line ring = whole_ring(g);
  const int left_out = g.parameters<LeftOut>().rounds;
  const auto partial = [&](Rank s, Rank block) {
    return s == ring.size() - 2 ? g.output(block) : g.scratch(s % 2, g.input(block));
  };
  ring_reduce_scatter(g, ring, [&](Rank block) { return g.input(block); }, partial, {.skip = left_out});
  g.finish(g.output(ring.own), ring.size() - left_out);
}

}  // namespace

// This is the first half of the ring allreduce.
// It takes P-1 rounds. Each rank sends (P-1)/P of the input.
extern const Algorithm reduce_scatter_ring;
constexpr Algorithm reduce_scatter_ring = {
    .collective = Collective::ReduceScatter,
    .name = "ring",
    .summary = "P-1 rounds, (P-1)/P of the input per rank",
    .symmetric = true,
    .build = build_reduce_scatter_ring,
    .parameters = &parameter_set<LeftOut>,
};

// The same program serves blocks of different lengths.
extern const Algorithm reduce_scatterv_ring;
constexpr Algorithm reduce_scatterv_ring =
    serving(Collective::ReduceScatterv, "P-1 rounds; each rank sends all blocks but its own", reduce_scatter_ring);

}  // namespace lacuna
