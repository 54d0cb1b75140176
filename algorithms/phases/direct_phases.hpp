#pragma once

#include "algorithms/topology/topology.hpp"
#include "runtime/graph/builder.hpp"

namespace lacuna {

/// The two phases of an allreduce along a line of positions that reach each other's memory at once, as on one host.
/// Index i of the line owns piece i. Each phase is one round, in which an index sends every other index one message.
/// `input(piece)` and `output(piece)` say where a piece lies. Where others can't map the caller's memory, an index
/// sends copies that they can map (GraphBuilder::mappable).

/// Reduce-scatter: each index sends every other index the piece that this one owns. The owner adds up what comes, in
/// the order of the distances. On a line of one position it copies.
template <class Input, class Output>
void direct_reduce_scatter(GraphBuilder& g, const Line& line, Input input, Output output) {
  const Rank n = line.size(), me = line.own;
  for (Rank d = 1; d < n; ++d) g.send(g.mappable(input(line.wrap(me + d))), line.at(me + d));
  if (n == 1) g.copy(output(me), input(me));
  for (Rank d = 1; d < n; ++d) {
    g.receive_reduce(output(me), d == 1 ? input(me) : output(me), line.at(me - d), Brings::Term);
  }
}

/// Allgather: each index sends all others its piece, of which one copy serves all.
template <class Output>
void direct_allgather(GraphBuilder& g, const Line& line, Output output) {
  const Rank n = line.size(), me = line.own;
  if (n == 1) return;
  const Region own = g.mappable(output(me));
  for (Rank d = 1; d < n; ++d) g.send(own, line.at(me + d));
  for (Rank d = 1; d < n; ++d) g.receive(output(line.wrap(me - d)), line.at(me - d));
}

}  // namespace lacuna
