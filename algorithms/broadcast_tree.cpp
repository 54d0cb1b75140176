#include <bit>

#include "runtime/algorithm.hpp"

namespace lacuna {
namespace {

void build(GraphBuilder& g) {
  const Rank p = g.size(), me = g.position();
  if (me == 0) {
    g.copy(g.output(), g.input());
  } else {
    g.receive(g.output(), me & (me - 1));
  }
  const Rank below = me == 0 ? static_cast<Rank>(std::bit_ceil(static_cast<unsigned>(p))) : me & -me;
  for (Rank distance = below / 2; distance > 0; distance /= 2) {
    if (me + distance < p) g.send(me == 0 ? g.input() : g.output(), me + distance);
  }
}

}  // namespace

// A binomial tree whose position 0 is the root: the parent of a position is the position without its lowest bit.
// ceil(log2 P) steps; the root sends ceil(log2 P) times the data, all ranks together P-1 times.
extern const Algorithm broadcast_tree;
const Algorithm broadcast_tree = {
    .collective = Collective::Broadcast,
    .name = "tree",
    .summary = "binomial tree, log2 P steps; the root sends log2 P times the data",
    .symmetric = false,
    .supports = nullptr,
    .build = build,
    .bind = from_root,
};

}  // namespace lacuna
