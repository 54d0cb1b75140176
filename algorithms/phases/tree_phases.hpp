#pragma once

#include <algorithm>
#include <vector>

#include "algorithms/phases/feedback.hpp"
#include "algorithms/phases/left_out.hpp"
#include "algorithms/topology/topology.hpp"
#include "runtime/graph/builder.hpp"

namespace lacuna {

/// The two phases of a tree, or of several trees that share no position.

/// Every position adds what its children have summed to `own`, in `partial`, and sends the sum to its parent. Returns
/// where the sum of the position's subtree lies, which is `own` at a leaf. Positions less than `skip` levels above
/// their lowest leaf take no part.
inline Region tree_reduce(GraphBuilder& g, const Topology& tree, Region own, Region partial, int skip = 0) {
  const Rank me = g.position();
  const auto takes_part = [heights = skip > 0 ? tree.heights() : std::vector<int>(), skip](Rank position) {
    return heights.empty() || heights[static_cast<std::size_t>(position)] >= skip;
  };
  const auto is_leaf = [&](Rank position) { return std::ranges::none_of(tree.children(position), takes_part); };
  Region sum = own;
  for (Rank child : tree.children(me)) {
    if (!takes_part(child)) continue;
    g.receive_reduce(partial, sum, child, is_leaf(child) ? Brings::Term : Brings::Sum);
    sum = partial;
  }
  if (const auto parent = tree.parent(me); parent && takes_part(me)) g.send(sum, *parent);
  return sum;
}

/// The root's `data` goes to all positions. The children with the most positions below them get it first; in a binomial
/// tree these are the last children.
inline void tree_broadcast(GraphBuilder& g, const Topology& tree, Region data) {
  const Rank me = g.position();
  if (const auto parent = tree.parent(me)) g.receive(data, *parent);
  const std::vector<Rank> children = tree.children(me);
  for (auto child = children.rbegin(); child != children.rend(); ++child) g.send(data, *child);
}

/// The number of positions that contribute to a tree_reduce.
inline Rank tree_contributors(const Topology& tree, int skip) {
  const std::vector<int> heights = tree.heights();
  return static_cast<Rank>(std::count_if(heights.begin(), heights.end(), [&](int height) { return height >= skip; }));
}

/// The sum of `input` goes up the tree, and down again in `output`.
inline void tree_allreduce(GraphBuilder& g, const Topology& tree, Region input, Region output, int skip = 0) {
  tree_reduce(g, tree, input, output, skip);
  if (!tree.parent(g.position())) {
    const Rank contributors = tree_contributors(tree, skip);
    if (contributors == 1) g.copy(output, input);
    g.finish(output, contributors);
  }
  tree_broadcast(g, tree, output);
}

/// How many levels lie below the root in the lower of both trees of a double tree.
inline int levels_of_double_tree(Rank size) {
  const auto height = [](const Topology& tree) {
    const std::vector<int> heights = tree.heights();
    return *std::max_element(heights.begin(), heights.end());
  };
  const auto trees = Topology::double_binary_tree(size);
  return std::min(height(trees[0]), height(trees[1]));
}

/// Two trees carry half of the data each. Each position is a leaf in at least one of them. A position that stays out of
/// both can't tell what it leaves out.
inline void double_tree_allreduce(GraphBuilder& g, int skip = 0) {
  const auto trees = Topology::double_binary_tree(g.size());
  skip = rounds_left_out(g, skip, levels_of_double_tree(g.size()));
  const auto stays_out = [&](Rank half) {
    return trees[static_cast<std::size_t>(half)].heights()[static_cast<std::size_t>(g.position())] < skip;
  };
  if (stays_out(0) != stays_out(1)) {
    const Rank out = stays_out(0) ? 0 : 1, in = 1 - out;
    leave_out(g, g.input(out, out + 1, 2), g.input(in, in + 1, 2));
  }
  for (Rank half = 0; half < 2; ++half) {
    const Topology& tree = trees[static_cast<std::size_t>(half)];
    tree_allreduce(g, tree, g.input(half, half + 1, 2), g.output(half, half + 1, 2), skip);
  }
}

}  // namespace lacuna
