#include "algorithms/phases/hypercube_phases.hpp"
#include "algorithms/phases/left_out.hpp"
#include "runtime/graph/algorithm.hpp"

namespace lacuna {

// halving_doubling_allreduce on the largest hypercube of ranks; those beyond it are served by partners in it.
// 2 log2 P' steps on the P' = 2^floor(log2 P) first ranks (2 more when P is no power of two); each of them sends
// 2(P'-1)/P' of the data, and all of it once more to a partner; the others send the data once.
extern const Algorithm allreduce_halving_doubling;
const Algorithm allreduce_halving_doubling = {
    .collective = Collective::Allreduce,
    .name = "halving_doubling",
    .summary = "2 log2 P steps, 2(P-1)/P of the data per rank for P = 2^k; for medium data",
    .symmetric = false,
    .build = [](GraphBuilder& g) { halving_doubling_allreduce(g, g.parameters<LeftOut>().rounds); },
    .parameters = &parameter_set<LeftOut>,
};

}  // namespace lacuna
