#pragma once

#include "runtime/builder.hpp"

namespace lacuna {

/// The two phases of a ring over pieces, shared by all ring algorithms. Position i passes on to i + 1 and owns piece i.
/// Source: Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations (2009), section 3.

/// Reduce-scatter: P-1-skip steps after which output(position) holds the sum of piece `position` over all ranks but the
/// `skip` that follow its owner. `partial(s, piece)` is where step s leaves what it has summed so far.
template <class Partial>
void ring_reduce_scatter(GraphBuilder& g, int skip, Partial partial) {
  const Rank p = g.size(), me = g.position();
  for (Rank s = skip; s < p - 1; ++s) {
    g.send(s == skip ? g.input(me - 1 - s) : partial(s - 1, me - 1 - s), me + 1);
    g.receive_reduce(s == p - 2 ? g.output(me) : partial(s, me - 2 - s), g.input(me - 2 - s), me - 1);
  }
  if (skip >= p - 1) g.copy(g.output(me), g.input(me));
  g.finish(g.output(me));
}

/// Allgather: P-1 steps after which every output(i) holds what output(i) of position i held.
inline void ring_allgather(GraphBuilder& g) {
  const Rank p = g.size(), me = g.position();
  for (Rank s = 0; s < p - 1; ++s) {
    g.send(g.output(me - s), me + 1);
    g.receive(g.output(me - 1 - s), me - 1);
  }
}

}  // namespace lacuna
