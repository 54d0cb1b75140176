#include "algorithms/phases/ring_phases.hpp"
#include "algorithms/skip/skip_order.hpp"

namespace lacuna {
namespace {

/// The input stays as it is: sums on their way rest in two blocks in turn.
void build(GraphBuilder& g) {
  const Line ring = whole_ring(g);
  const auto partial = [&](Rank s, Rank block) {
    return s == ring.size() - 2 ? g.output(block) : g.scratch(s % 2, g.input(block));
  };
  ring_reduce_scatter(
      g, ring, [&](Rank block) { return g.input(block); }, partial, g.skip_steps());
  g.finish(g.output(ring.own), ring.size() - g.skip_steps());
}

}  // namespace

// The first half of the ring allreduce.
// P-1 steps; each rank sends (P-1)/P of the input.
extern const Algorithm reduce_scatter_ring;
constexpr Algorithm reduce_scatter_ring = {
    .collective = Collective::ReduceScatter,
    .name = "ring",
    .summary = "P-1 steps, (P-1)/P of the input per rank",
    .symmetric = true,
    .supports = nullptr,
    .build = build,
    .bind = nullptr,
};

// The same with blocks of different lengths.
extern const Algorithm reduce_scatterv_ring;
constexpr Algorithm reduce_scatterv_ring =
    serving(Collective::ReduceScatterv, "P-1 steps; each rank sends all blocks but its own", reduce_scatter_ring);

// SkipReduce's: without the first S steps, so that to each block the S ranks that follow its owner in the ring do not
// contribute.
// P-1-S steps; each rank sends (P-1-S)/P of the input.
extern const Algorithm reduce_scatter_skip_ring;
const Algorithm reduce_scatter_skip_ring = {
    .collective = Collective::ReduceScatter,
    .name = "skip_ring",
    .summary = "SkipReduce: S steps left out; P-1-S steps, (P-1-S)/P of the input per rank",
    .symmetric = true,
    .supports = nullptr,
    .build = build,
    .bind = skip_order,
    .skipping = &ring_skipping,
};

}  // namespace lacuna
