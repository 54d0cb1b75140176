#pragma once

#include "algorithms/phases/feedback.hpp"
#include "algorithms/phases/left_out.hpp"
#include "algorithms/topology/topology.hpp"
#include "runtime/graph/builder.hpp"

namespace lacuna {

/// The two phases of a ring over pieces, along any line of positions. Index i of the line owns piece i and sends to
/// index i + 1. `input(piece)` and `output(piece)` say where a piece lies.
/// Source: Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations (2009), section 3.

/// How the reduce-scatter of a ring begins: which rounds are left out, and what the first message from the index before
/// brings.
struct RingStart {
  int skip = 0;
  Brings first = Brings::Term;
};

/// Reduce-scatter: it takes n-1-skip rounds on a line of n. After them partial(n-2, own) holds the sum of the own piece
/// over all positions but the `skip` that follow its owner. `partial(s, piece)` is where round s leaves what it has
/// summed so far. On a line of one position it copies.
template <class Input, class Partial>
void ring_reduce_scatter(GraphBuilder& g, const Line& line, Input input, Partial partial, RingStart start = {}) {
  const Rank n = line.size(), me = line.own;
  const int skip = rounds_left_out(g, start.skip, n - 1);
  for (Rank s = 0; s < skip; ++s) leave_out(g, input(line.wrap(me - 1 - s)), input(me));
  if (skip == n - 1) g.copy(partial(n - 2, me), input(me));
  for (Rank s = skip; s < n - 1; ++s) {
    const Rank sent = line.wrap(me - 1 - s), arriving = line.wrap(me - 2 - s);
    g.send(s == skip ? input(sent) : partial(s - 1, sent), line.at(me + 1));
    g.receive_reduce(partial(s, arriving), input(arriving), line.at(me - 1), s == skip ? start.first : Brings::Sum);
  }
}

/// Allgather: it takes n-1-skip rounds. After them output(i) holds what output(i) of index i held. The outputs of the
/// `skip` indices that follow the own one are left out: they become zeros, or stay as they are if LeftOut::keep says
/// so.
template <class Output>
void ring_allgather(GraphBuilder& g, const Line& line, Output output, int skip = 0) {
  const Rank n = line.size(), me = line.own;
  skip = rounds_left_out(g, skip, n - 1);
  for (Rank s = 0; s < n - 1 - skip; ++s) {
    g.send(output(line.wrap(me - s)), line.at(me + 1));
    g.receive(output(line.wrap(me - 1 - s)), line.at(me - 1));
  }
  for (Rank i = 1; i <= skip; ++i) {
    g.lacks(output(line.wrap(me + i)));
    if (!g.parameters<LeftOut>().keep) g.clear(output(line.wrap(me + i)));
  }
}

/// All positions of the builder, in their order.
inline Line whole_ring(const GraphBuilder& g) { return Topology::ring(g.size()).line(g.position()); }

/// Both phases around all positions, for size() pieces of the data. Rounds may be left out of both.
inline void ring_allreduce(GraphBuilder& g) {
  const LeftOut left_out = g.parameters<LeftOut>();
  const Line ring = whole_ring(g);
  const auto output = [&](Rank piece) { return g.output(piece); };
  const auto partial = [&](Rank, Rank piece) { return g.output(piece); };
  ring_reduce_scatter(g, ring, [&](Rank piece) { return g.input(piece); }, partial, {.skip = left_out.rounds});
  g.finish(g.output(ring.own), ring.size() - left_out.rounds);
  ring_allgather(g, ring, output, left_out.gather_rounds);
}

}  // namespace lacuna
