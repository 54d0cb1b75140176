#include "algorithms/phases/left_out.hpp"
#include "algorithms/phases/tree_phases.hpp"
#include "runtime/graph/algorithm.hpp"

namespace lacuna {

// Two complementary binary trees carry one half of the data each. An inner position of one tree is a leaf of the other,
// so that with many parts in flight all ranks send at full rate (Sanders, Speck, Traeff, 2009, section 3).
// It takes about 2 log2 P rounds. A rank sends half of the data to each of its at most 3 neighbours in each tree.
extern const Algorithm allreduce_double_tree;
const Algorithm allreduce_double_tree = {
    .collective = Collective::Allreduce,
    .name = "double_tree",
    .summary = "2 log2 P rounds, 2(P-1)/P of the data per rank on average; for medium data on many ranks",
    .symmetric = false,
    .build = [](GraphBuilder& g) { double_tree_allreduce(g, g.parameters<LeftOut>().rounds); },
    .parameters = &parameter_set<LeftOut>,
};

}  // namespace lacuna
