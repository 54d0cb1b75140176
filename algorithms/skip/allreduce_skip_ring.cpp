#include "algorithms/phases/ring_phases.hpp"
#include "algorithms/skip/skip_order.hpp"

namespace lacuna {
// SkipReduce (Kasan, Abts, Choi, Kim, MICRO 2025, section 4): the ring allreduce without its first S reduce-scatter
// steps. Each piece starts its way S ranks later, so the S ranks that follow its owner never add to it.
// 2(P-1)-S steps; each rank sends (2(P-1)-S)/P of the data; P-S ranks contribute to each piece, its owner always.
extern const Algorithm allreduce_skip_ring;
const Algorithm allreduce_skip_ring = {
    .collective = Collective::Allreduce,
    .name = "skip_ring",
    .summary = "SkipReduce: S reduce-scatter steps left out; 2(P-1)-S steps, (2(P-1)-S)/P of the data per rank",
    .symmetric = true,
    .supports = nullptr,
    .build = [](GraphBuilder& g) { ring_allreduce(g, g.skip_steps(), g.gather_steps()); },
    .bind = skip_order,
    .skipping = &ring_skipping,
};

}  // namespace lacuna
