#include "algorithms/phases/tree_phases.hpp"
#include "runtime/graph/algorithm.hpp"

namespace lacuna {

// This is the broadcast's binomial tree in the opposite direction: a position adds what its children have summed, then
// sends the sum to the position without its lowest bit. Position 0 is the root.
// It takes ceil(log2 P) rounds. Each rank but the root sends the data once.
extern const Algorithm reduce_tree;
const Algorithm reduce_tree = {
    .collective = Collective::Reduce,
    .name = "tree",
    .summary = "binomial tree, log2 P rounds; each rank but the root sends the data once",
    .symmetric = false,
    .build =
        [](GraphBuilder& g) {
          const bool is_root = g.position() == 0;
          const Region partial = is_root ? g.output() : g.scratch(0, g.output());
          tree_reduce(g, Topology::binomial_tree(g.size()), g.input(), partial);
          if (g.size() == 1) g.copy(g.output(), g.input());
          if (is_root) g.finish(g.output());
        },
    .order = from_root,
};

}  // namespace lacuna
