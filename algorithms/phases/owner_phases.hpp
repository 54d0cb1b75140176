#pragma once

#include <vector>

#include "algorithms/phases/ring_phases.hpp"
#include "runtime/graph/builder.hpp"

namespace lacuna {

/// The two phases of an exchange in which position i owns piece i of the data, for programs whose messages are not the
/// data themselves. Messages go straight from one position to another. So each phase is one round, and what a rank
/// sends is converted once in each. Message d goes to the position d after the own one, so that no position gets two at
/// a time.

/// Each position sends a message for each piece to its owner. `pack(owner)` writes one and returns it; `room()` makes
/// room for a message of the own piece. Returns what all positions have for the own piece, by position: `own` at the
/// own one, and messages at the others.
template <class Pack, class Room>
std::vector<Region> send_to_owners(GraphBuilder& g, const Region& own, Pack pack, Room room) {
  const Line ring = whole_ring(g);
  std::vector<Region> all(static_cast<std::size_t>(g.size()), own);
  for (Rank distance = 1; distance < g.size(); ++distance) {
    const Rank to = ring.wrap(g.position() + distance), from = ring.wrap(g.position() - distance);
    g.send(pack(to), to);
    Region& message = all[static_cast<std::size_t>(from)];
    message = room();
    g.receive(message, from);
  }
  return all;
}

/// Each position sends the message `own` to all others. `room(owner)` makes room for that of another position. Returns
/// the messages of all positions, by position.
template <class Room>
std::vector<Region> send_to_all(GraphBuilder& g, const Region& own, Room room) {
  const Line ring = whole_ring(g);
  std::vector<Region> all(static_cast<std::size_t>(g.size()), own);
  for (Rank distance = 1; distance < g.size(); ++distance) {
    const Rank from = ring.wrap(g.position() - distance);
    g.send(own, ring.wrap(g.position() + distance));
    Region& message = all[static_cast<std::size_t>(from)];
    message = room(from);
    g.receive(message, from);
  }
  return all;
}

}  // namespace lacuna
