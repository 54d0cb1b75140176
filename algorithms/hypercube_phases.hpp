#pragma once

#include <bit>
#include <optional>

#include "algorithms/topology.hpp"
#include "runtime/builder.hpp"

namespace lacuna {

/// Where the number of positions is no power of two, those beyond the largest hypercube hand their input to a partner
/// in it and get the result last. Source: Rabenseifner, Traeff: More efficient reduction algorithms for
/// non-power-of-two number of processors in message-passing parallel systems (2004).

inline Topology largest_hypercube(const GraphBuilder& g) {
  return *Topology::hypercube(static_cast<Rank>(std::bit_floor(static_cast<unsigned>(g.size()))));
}

/// For a position in the cube: whom it serves beyond it.
inline std::optional<Rank> partner_outside(const GraphBuilder& g, const Topology& cube) {
  const Rank partner = g.position() + cube.size();
  return partner < g.size() ? std::optional(partner) : std::nullopt;
}

/// For a position beyond the cube: all that it does.
inline void be_served(GraphBuilder& g, const Topology& cube) {
  g.send(g.input(), g.position() - cube.size());
  g.receive(g.output(), g.position() - cube.size());
}

}  // namespace lacuna
