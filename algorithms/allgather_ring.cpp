#include "algorithms/phases/ring_phases.hpp"
#include "runtime/graph/algorithm.hpp"

namespace lacuna {
namespace {

void build_allgather_ring(GraphBuilder& g) {
  g.copy(g.output(g.position()), g.input(g.position()));
  ring_allgather(
      g, whole_ring(g), [&](Rank block) { return g.output(block); }, g.parameters<LeftOut>().rounds);
}

}  // namespace

// This is the second half of the ring allreduce: every block travels once around the ring.
// It takes P-1 rounds. Each rank sends (P-1)/P of the output.
extern const Algorithm allgather_ring;
constexpr Algorithm allgather_ring = {
    .collective = Collective::Allgather,
    .name = "ring",
    .summary = "P-1 rounds, (P-1)/P of the output per rank",
    .symmetric = true,
    .build = build_allgather_ring,
    .parameters = &parameter_set<LeftOut>,
};

// The same program serves blocks of different lengths.
extern const Algorithm allgatherv_ring;
constexpr Algorithm allgatherv_ring =
    serving(Collective::Allgatherv, "P-1 rounds; each rank sends all blocks but its successor's", allgather_ring);

}  // namespace lacuna
