#include "algorithms/phases/left_out.hpp"
#include "algorithms/phases/two_level_phases.hpp"
#include "runtime/graph/algorithm.hpp"

namespace lacuna {

// Between hosts, of which there are h, goes only what must (two_level_allreduce). k ranks stand on each.
//
// Even hosts: 2(k-1) + 2(h-1) steps; each rank sends 2(P-1)/P of the data, 2(h-1)/P of it to another host.
//
// Uneven, with k on one at most: 2 ceil(log2 k) + 2(h-1) steps at most; a leader sends 2(h-1)/h of the data to the next
// one and all of it to ceil(log2 k) others at most; each other rank sends all of it once, and to those below it.
extern const Algorithm allreduce_two_level;
const Algorithm allreduce_two_level = {
    .collective = Collective::Allreduce,
    .name = "two_level",
    .summary = "inside h hosts of k ranks, then between them: 2(k+h-2) steps, 2(P-1)/P of the data per rank",
    .symmetric = false,
    .by_hosts = true,
    .build = [](GraphBuilder& g) { two_level_allreduce(g, g.parameters<LeftOut>().rounds); },
    .parameters = &parameter_set<LeftOut>,
};

}  // namespace lacuna
