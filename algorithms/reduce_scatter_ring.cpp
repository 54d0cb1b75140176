#include "algorithms/ring_phases.hpp"
#include "runtime/algorithm.hpp"

namespace lacuna {

// The first half of the ring allreduce. The input stays as it is: sums on their way rest in two blocks in turn.
// P-1 steps; each rank sends (P-1)/P of the input.
extern const Algorithm reduce_scatter_ring;
constexpr Algorithm reduce_scatter_ring = {
    .collective = Collective::ReduceScatter,
    .name = "ring",
    .summary = "P-1 steps, (P-1)/P of the input per rank",
    .symmetric = true,
    .supports = nullptr,
    .build =
        [](GraphBuilder& g) {
          const Line ring = whole_ring(g);
          const auto partial = [&](Rank s, Rank block) {
            return s == ring.size() - 2 ? g.output(block) : g.scratch(s % 2, g.input(block));
          };
          ring_reduce_scatter(
              g, ring, [&](Rank block) { return g.input(block); }, partial);
          g.finish(g.output(ring.own));
        },
    .bind = nullptr,
};

// The same with blocks of different lengths.
extern const Algorithm reduce_scatterv_ring;
constexpr Algorithm reduce_scatterv_ring =
    serving(Collective::ReduceScatterv, "P-1 steps; each rank sends all blocks but its own", reduce_scatter_ring);

}  // namespace lacuna
