#include "algorithms/phases/two_level_phases.hpp"
#include "algorithms/skip/skip_order.hpp"

namespace lacuna {
namespace {

constexpr Skipping skipping = {
    .most = [](const Hosts& hosts) { return hosts.count() - 1; },
    .left_out = [](const Hosts& hosts, int steps) { return static_cast<double>(steps) / hosts.count(); },
};

}  // namespace

// Two levels, dense inside a host: between the h hosts the ring leaves out its first S reduce-scatter steps, so that to
// each piece the S hosts that follow its owner's contribute nothing. Random turns the hosts: each loses each piece
// equally often where the ranks of a host stand together.
// S steps less, of 1/P of the data each with k ranks on every host, of 1/h between leaders otherwise; the ranks of h-S
// hosts contribute.
extern const Algorithm allreduce_skip_two_level;
const Algorithm allreduce_skip_two_level = {
    .collective = Collective::Allreduce,
    .name = "skip_two_level",
    .summary = "dense inside a host, S steps left out between h hosts: the ranks of h-S hosts contribute",
    .symmetric = false,
    .by_hosts = true,
    .supports = nullptr,
    .build = [](GraphBuilder& g) { two_level_allreduce(g, g.skip_steps()); },
    .bind = skip_order_of_hosts,
    .skipping = &skipping,
};

}  // namespace lacuna
