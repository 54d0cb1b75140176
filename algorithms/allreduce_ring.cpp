#include "algorithms/phases/ring_phases.hpp"
#include "runtime/graph/algorithm.hpp"

namespace lacuna {

// Each piece of the data travels once around the ring and grows into the sum, then once more to reach everyone.
// It takes 2(P-1) rounds. Each rank sends 2(P-1)/P of the data, the least that any allreduce can send.
extern const Algorithm allreduce_ring;
const Algorithm allreduce_ring = {
    .collective = Collective::Allreduce,
    .name = "ring",
    .summary = "2(P-1) rounds, 2(P-1)/P of the data per rank; for large data",
    .symmetric = true,
    .build = ring_allreduce,
    .parameters = &parameter_set<LeftOut>,
};

}  // namespace lacuna
