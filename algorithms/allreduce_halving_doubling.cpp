#include "algorithms/phases/hypercube_phases.hpp"
#include "algorithms/phases/left_out.hpp"
#include "runtime/graph/algorithm.hpp"

namespace lacuna {

// This is halving_doubling_allreduce on the largest hypercube of ranks. Partners in the hypercube serve the ranks
// beyond it.
// The P' = 2^floor(log2 P) first ranks take 2 log2 P' rounds, and 2 more when P is no power of two. Each of them sends
// 2(P'-1)/P' of the data, and all of it once more to its partner if it has one. The other ranks send the data once.
extern const Algorithm allreduce_halving_doubling;
const Algorithm allreduce_halving_doubling = {
    .collective = Collective::Allreduce,
    .name = "halving_doubling",
    .summary = "2 log2 P rounds, 2(P-1)/P of the data per rank for P = 2^k; for medium data",
    .symmetric = false,
    .build = [](GraphBuilder& g) { halving_doubling_allreduce(g, g.parameters<LeftOut>().rounds); },
    .parameters = &parameter_set<LeftOut>,
};

}  // namespace lacuna
