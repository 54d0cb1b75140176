#include "runtime/algorithm.hpp"

namespace lacuna {
namespace {

void build(GraphBuilder& g) {
  const Rank p = g.size(), me = g.position();
  const Region partial = me == 0 ? g.output() : g.scratch(0, g.output());
  Region sum = g.input();
  for (Rank distance = 1; distance < p; distance *= 2) {
    if ((me & distance) != 0) {
      g.send(sum, me - distance);
      return;
    }
    if (me + distance >= p) continue;
    g.receive_reduce(partial, sum, me + distance);
    sum = partial;
  }
  if (p == 1) g.copy(g.output(), g.input());
  g.finish(g.output());
}

}  // namespace

// The broadcast's binomial tree the other way: a position adds what its children have summed, then sends it to the
// position without its lowest bit. Position 0 is the root.
// ceil(log2 P) steps; each rank but the root sends the data once.
extern const Algorithm reduce_tree;
const Algorithm reduce_tree = {
    .collective = Collective::Reduce,
    .name = "tree",
    .summary = "binomial tree, log2 P steps; each rank but the root sends the data once",
    .symmetric = false,
    .supports = nullptr,
    .build = build,
    .bind = from_root,
};

}  // namespace lacuna
