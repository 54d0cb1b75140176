#pragma once

#include <algorithm>
#include <bit>
#include <optional>

#include "algorithms/phases/feedback.hpp"
#include "algorithms/phases/left_out.hpp"
#include "algorithms/topology/topology.hpp"
#include "runtime/graph/builder.hpp"

namespace lacuna {

/// Where the number of positions is no power of two, the positions beyond the largest hypercube hand their input to a
/// partner in it and get the result last. Source: Rabenseifner, Traeff: More efficient reduction algorithms for
/// non-power-of-two number of processors in message-passing parallel systems (2004).

inline Topology largest_hypercube(const GraphBuilder& g) {
  return *Topology::hypercube(static_cast<Rank>(std::bit_floor(static_cast<unsigned>(g.size()))));
}

/// Returns the position beyond the cube that this position of the cube serves, if there is one.
inline std::optional<Rank> partner_outside(const GraphBuilder& g, const Topology& cube) {
  const Rank partner = g.position() + cube.size();
  return partner < g.size() ? std::optional(partner) : std::nullopt;
}

/// Leaves out all but a block of the own input, which the sum of the block tells.
inline void leave_out_all_but(GraphBuilder& g, Rank begin, Rank end, Rank of) {
  const Region block = g.input(begin, end, of);
  if (begin > 0) leave_out(g, g.input(0, begin, of), block);
  if (end < of) leave_out(g, g.input(end, of, of), block);
}

/// What the first message of a position of the cube to another one of it brings.
inline Brings first_from(const GraphBuilder& g, const Topology& cube, Rank peer) {
  return peer + cube.size() < g.size() ? Brings::Sum : Brings::Term;
}

/// States all that a position beyond the cube does. Its partner wants the pieces of the block of positions in which it
/// stands.
inline void be_served(GraphBuilder& g, const Topology& cube, Rank block) {
  const Rank partner = g.position() - cube.size(), begin = partner & -block;
  leave_out_all_but(g, begin, begin + block, cube.size());
  g.send(g.input(begin, begin + block, cube.size()), partner);
  g.receive(g.output(), partner);
}

/// Allreduce by halving and doubling. In each round of halving the two positions of a pair sum the same pieces; each
/// takes over one half of them. Then the pieces are gathered in the opposite order. Without the first `skip` rounds
/// each block of size() / 2^skip positions, with the positions beyond the cube that it serves, sums up its own share of
/// the data alone.
/// Source: Thakur, Rabenseifner, Gropp: Optimization of collective communication operations in MPICH (2005), section
/// 4.5.
inline void halving_doubling_allreduce(GraphBuilder& g, int skip = 0) {
  const Topology cube = largest_hypercube(g);
  const Rank me = g.position(), core = cube.size();
  const Rank block = core >> rounds_left_out(g, skip, std::countr_zero(static_cast<unsigned>(core)));
  if (me >= core) return be_served(g, cube, block);
  const auto outside = partner_outside(g, cube);
  Rank begin = me & -block, end = begin + block;  // the pieces that this position still sums up
  const Rank served = std::clamp(g.size() - core - begin, 0, block);
  leave_out_all_but(g, begin, end, core);
  bool summed = false;
  const auto sum = [&](Rank from, Rank to) { return summed ? g.output(from, to, core) : g.input(from, to, core); };

  if (outside) {
    g.receive_reduce(g.output(begin, end, core), g.input(begin, end, core), *outside, Brings::Term);
    summed = true;
  }
  for (Rank distance = block / 2; distance > 0; distance /= 2) {
    const Rank middle = begin + distance, peer = me ^ distance;
    const bool upper = (me & distance) != 0;
    upper ? g.send(sum(begin, middle), peer) : g.send(sum(middle, end), peer);
    (upper ? begin : end) = middle;
    g.receive_reduce(g.output(begin, end, core), sum(begin, end), peer,
                     distance == block / 2 ? first_from(g, cube, peer) : Brings::Sum);
    summed = true;
  }
  if (!summed) g.copy(g.output(begin, end, core), g.input(begin, end, core));
  g.finish(g.output(begin, end, core), block + served);
  for (Rank distance = 1; distance < core; distance *= 2) {
    const Rank peer = me ^ distance, there = peer & -distance;
    g.send(g.output(me & -distance, (me & -distance) + distance, core), peer);
    g.receive(g.output(there, there + distance, core), peer);
  }
  if (outside) g.send(g.output(), *outside);
}

}  // namespace lacuna
