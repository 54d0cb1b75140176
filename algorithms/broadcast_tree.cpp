#include "algorithms/phases/tree_phases.hpp"
#include "runtime/graph/algorithm.hpp"

namespace lacuna {

// Position 0 is the root of a binomial tree: the parent of a position is the position without its lowest bit.
// It takes ceil(log2 P) rounds. The root sends ceil(log2 P) times the data, all ranks together P-1 times.
extern const Algorithm broadcast_tree;
const Algorithm broadcast_tree = {
    .collective = Collective::Broadcast,
    .name = "tree",
    .summary = "binomial tree, log2 P rounds; the root sends log2 P times the data",
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
