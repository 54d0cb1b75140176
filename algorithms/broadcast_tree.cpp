#include "algorithms/phases/tree_phases.hpp"
#include "runtime/graph/algorithm.hpp"

namespace lacuna {

// A binomial tree whose position 0 is the root: the parent of a position is the position without its lowest bit.
// ceil(log2 P) steps; the root sends ceil(log2 P) times the data, all ranks together P-1 times.
extern const Algorithm broadcast_tree;
const Algorithm broadcast_tree = {
    .collective = Collective::Broadcast,
    .name = "tree",
    .summary = "binomial tree, log2 P steps; the root sends log2 P times the data",
    .symmetric = false,
    .build =
        [](GraphBuilder& g) {
          const bool is_root = g.position() == 0;
          if (is_root) g.copy(g.output(), g.input());
          tree_broadcast(g, Topology::binomial_tree(g.size()), is_root ? g.input() : g.output());
        },
    .order = from_root,
};

}  // namespace lacuna
