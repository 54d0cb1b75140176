#include "algorithms/phases/ring_phases.hpp"
#include "runtime/graph/algorithm.hpp"

namespace lacuna {

// Each piece of the data travels once around the ring and grows into the sum, then once more to reach everyone.
// 2(P-1) steps; each rank sends 2(P-1)/P of the data, the least that any allreduce can send.
extern const Algorithm allreduce_ring;
const Algorithm allreduce_ring = {
    .collective = Collective::Allreduce,
    .name = "ring",
    .summary = "2(P-1) steps, 2(P-1)/P of the data per rank; for large data",
    .symmetric = true,
    .build = ring_allreduce,
    .parameters = &parameter_set<LeftOut>,
};

}  // namespace lacuna
