#include "algorithms/phases/tree_phases.hpp"
#include "algorithms/skip/skip_order.hpp"

namespace lacuna {
namespace {

int height(const Topology& tree) {
  const std::vector<int> heights = tree.heights();
  return *std::max_element(heights.begin(), heights.end());
}

constexpr Skipping skipping = {
    .most =
        [](const Hosts& hosts) {
          const auto trees = Topology::double_binary_tree(hosts.size());
          return std::min(height(trees[0]), height(trees[1]));
        },
    .left_out =
        [](const Hosts& hosts, int steps) {
          const auto trees = Topology::double_binary_tree(hosts.size());
          const Rank there = tree_contributors(trees[0], steps) + tree_contributors(trees[1], steps);
          return 1 - there / (2.0 * hosts.size());
        },
};

}  // namespace

// The double tree whose lowest S levels stay out of the reduction: a position that is less than S levels above its
// lowest leaf sends nothing up, and gets the result as always. In each tree the first level is half of the positions,
// the next one half of the rest: the last steps cost the fewest contributions.
// S steps less on the way up; each position that stays out of a tree saves half of the data.
extern const Algorithm allreduce_skip_double_tree;
const Algorithm allreduce_skip_double_tree = {
    .collective = Collective::Allreduce,
    .name = "skip_double_tree",
    .summary = "the lowest S levels of both trees left out: about 1 rank in 2^S contributes",
    .symmetric = false,
    .supports = nullptr,
    .build = [](GraphBuilder& g) { double_tree_allreduce(g, g.skip_steps()); },
    .bind = skip_order,
    .skipping = &skipping,
};

}  // namespace lacuna
