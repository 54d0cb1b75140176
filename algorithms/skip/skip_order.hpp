#pragma once

#include "runtime/graph/algorithm.hpp"

namespace lacuna {

/// The order of the ranks in one part of a call that skips: as its mode draws it, backwards if it is reversed. What
/// skips nothing has the order of the dense algorithm.
Order skip_order(const Binding& binding, std::uint32_t part);

/// The same for algorithms by_hosts: random turns the hosts, whose order stays the same around.
Order skip_order_of_hosts(const Binding& binding, std::uint32_t part);

/// Of a ring of P: up to P-1 steps, each of which leaves out one contribution in P.
extern const Skipping ring_skipping;

}  // namespace lacuna
