#pragma once

#include "algorithms/topology.hpp"
#include "runtime/builder.hpp"

namespace lacuna {

/// The two phases of a tree, or of several that share no position.

/// Every position adds what its children have summed to `own`, in `partial`, and sends it to its parent. Returns where
/// the sum of its subtree lies: `own` at a leaf.
inline Region tree_reduce(GraphBuilder& g, const Topology& tree, Region own, Region partial) {
  const Rank me = g.position();
  Region sum = own;
  for (Rank child : tree.children(me)) {
    g.receive_reduce(partial, sum, child);
    sum = partial;
  }
  if (const auto parent = tree.parent(me)) g.send(sum, *parent);
  return sum;
}

/// The root's `data` goes to all; those with most below them come first, which in a binomial tree are the last.
inline void tree_broadcast(GraphBuilder& g, const Topology& tree, Region data) {
  const Rank me = g.position();
  if (const auto parent = tree.parent(me)) g.receive(data, *parent);
  const std::vector<Rank> children = tree.children(me);
  for (auto child = children.rbegin(); child != children.rend(); ++child) g.send(data, *child);
}

/// The sum of `input` up the tree, and down again in `output`.
inline void tree_allreduce(GraphBuilder& g, const Topology& tree, Region input, Region output) {
  const Region sum = tree_reduce(g, tree, input, output);
  if (!tree.parent(g.position())) {
    if (sum != output) g.copy(output, sum);
    g.finish(output);
  }
  tree_broadcast(g, tree, output);
}

}  // namespace lacuna
