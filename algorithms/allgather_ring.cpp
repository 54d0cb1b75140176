#include "algorithms/phases/ring_phases.hpp"
#include "algorithms/skip/skip_order.hpp"

namespace lacuna {
namespace {

void build(GraphBuilder& g) {
  g.copy(g.output(g.position()), g.input(g.position()));
  ring_allgather(
      g, whole_ring(g), [&](Rank block) { return g.output(block); }, g.skip_steps());
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
    .supports = nullptr,
    .build = build,
    .bind = nullptr,
};

// The same with blocks of different lengths.
extern const Algorithm allgatherv_ring;
constexpr Algorithm allgatherv_ring =
    serving(Collective::Allgatherv, "P-1 steps; each rank sends all blocks but its successor's", allgather_ring);

// SkipReduce's: without the last S steps, so that each rank lacks the blocks of the S ranks that follow it in the ring.
// P-1-S steps; each rank sends (P-1-S)/P of the output.
extern const Algorithm allgather_skip_ring;
const Algorithm allgather_skip_ring = {
    .collective = Collective::Allgather,
    .name = "skip_ring",
    .summary = "SkipReduce: S steps left out; P-1-S steps, each rank lacks S blocks",
    .symmetric = true,
    .supports = nullptr,
    .build = build,
    .bind = skip_order,
    .skipping = &ring_skipping,
};

}  // namespace lacuna
