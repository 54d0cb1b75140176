#include "algorithms/phases/left_out.hpp"
#include "algorithms/phases/tree_phases.hpp"
#include "runtime/graph/algorithm.hpp"

namespace lacuna {

// Two complementary binary trees, each for one half of the data: what is inner to one is a leaf of the other, so that
// with many parts in flight all ranks send at full rate (Sanders, Speck, Traeff, 2009, section 3).
// About 2 log2 P steps; a rank sends half the data to each of its at most 3 neighbours in each tree.
extern const Algorithm allreduce_double_tree;
const Algorithm allreduce_double_tree = {
    .collective = Collective::Allreduce,
    .name = "double_tree",
    .summary = "2 log2 P steps, 2(P-1)/P of the data per rank on average; for medium data on many ranks",
    .symmetric = false,
    .build = [](GraphBuilder& g) { double_tree_allreduce(g, g.parameters<LeftOut>().rounds); },
    .parameters = &parameter_set<LeftOut>,
};

}  // namespace lacuna
