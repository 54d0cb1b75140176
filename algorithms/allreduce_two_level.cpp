#include "algorithms/phases/left_out.hpp"
#include "algorithms/phases/two_level_phases.hpp"
#include "runtime/graph/algorithm.hpp"

namespace lacuna {

// Only what must travel between the h hosts does so (two_level_allreduce).
//
// If k ranks stand on every host, it takes 2(h-1) rounds between hosts and 2 inside them, in each of which a rank sends
// k-1 messages. Each rank sends 2(P-1)/P of the data, 2(h-1)/P of it to another host.
//
// If hosts differ, and k ranks at most stand on one, it takes at most 2 ceil(log2 k) + 2(h-1) rounds. A leader sends
// 2(h-1)/h of the data to the next leader, and all of it to at most ceil(log2 k) ranks of its host. Every other rank
// sends all of the data once up its tree, and once to each of its children.
extern const Algorithm allreduce_two_level;
const Algorithm allreduce_two_level = {
    .collective = Collective::Allreduce,
    .name = "two_level",
    .summary = "inside h hosts as direct, then between them as ring: 2h rounds, 2(P-1)/P of the data per rank",
    .symmetric = false,
    .by_hosts = true,
    .maps_copies = true,
    .build = [](GraphBuilder& g) { two_level_allreduce(g, g.parameters<LeftOut>().rounds); },
    .parameters = &parameter_set<LeftOut>,
};

}  // namespace lacuna
