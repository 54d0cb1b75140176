#include "algorithms/phases/ring_phases.hpp"
#include "runtime/graph/algorithm.hpp"

namespace lacuna {
namespace {

void build(GraphBuilder& g) {
  g.copy(g.output(g.position()), g.input(g.position()));
  ring_allgather(
      g, whole_ring(g), [&](Rank block) { return g.output(block); }, g.parameters<LeftOut>().rounds);
}

}  // namespace

// The second half of the ring allreduce: every block travels once around the ring.
// P-1 steps; each rank sends (P-1)/P of the output.
extern const Algorithm allgather_ring;
constexpr Algorithm allgather_ring = {
    .collective = Collective::Allgather,
    .name = "ring",
    .summary = "P-1 steps, (P-1)/P of the output per rank",
    .symmetric = true,
    .build = build,
    .parameters = &parameter_set<LeftOut>,
};

// The same with blocks of different lengths.
extern const Algorithm allgatherv_ring;
constexpr Algorithm allgatherv_ring =
    serving(Collective::Allgatherv, "P-1 steps; each rank sends all blocks but its successor's", allgather_ring);

}  // namespace lacuna
