#include "algorithms/phases/tree_phases.hpp"
#include "runtime/graph/algorithm.hpp"

namespace lacuna {

// Position 0 adds up what all others send it, and sends the sum to all of them. No algorithm has fewer messages. Where
// ranks share processors, each of them has one turn for a call, and few messages to handle in it.
// It takes 2 rounds. Position 0 sends P-1 times the data, and each other rank once.
extern const Algorithm allreduce_star;
const Algorithm allreduce_star = {
    .collective = Collective::Allreduce,
    .name = "star",
    .summary = "2 rounds, 2(P-1) messages in all; for small data of ranks that share processors",
    .symmetric = false,
    .build = [](GraphBuilder& g) { tree_allreduce(g, Topology::star(g.size()), g.input(), g.output()); },
};

}  // namespace lacuna
