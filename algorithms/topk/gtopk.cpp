#include "algorithms/topk/running_sum.hpp"
#include "algorithms/topk/selecting.hpp"
#include "algorithms/topology/topology.hpp"

namespace lacuna {
namespace {

void build_gtopk(GraphBuilder& g) {
  const Topology tree = Topology::binomial_tree(g.size());
  const Rank me = g.position();
  const std::vector<Rank> children = tree.children(me);
  const auto parent = tree.parent(me);
  RunningSum sum(g, sparse::pack_whole(g, select(g)), parent ? 0 : children.size());
  for (Rank child : children) sum.add(child);
  Region result = sum.message();
  if (parent) {
    g.send(result, *parent);
    result = sparse::receive_message(g, *parent);
  }
  for (auto child = children.rbegin(); child != children.rend(); ++child) g.send(result, *child);
  sparse::place_pieces(g, {result}, parent.value_or(me), 0, 1);
}

}  // namespace

// On the way up a binomial tree, each rank adds what its children have sent, keeps the k largest sums and sends these.
// Then the root's sums go down again. The result has k entries, however many ranks there are.
// It takes 2 log2 P rounds. The root takes and sends log2 P times k entries. On average a rank sends 2(P-1)/P of k. A
// sum that is dropped stays in the residual of the rank that has dropped it, so that nothing is lost. P may be any
// number. Source: Shi, Wang, Zhao, Tang, Wang, Huang, Chu: A distributed synchronous SGD algorithm with global top-k
// sparsification for low bandwidth networks (ICDCS 2019).
constexpr Algorithm gtopk = {
    .collective = Collective::Allreduce,
    .name = "gtopk",
    .symmetric = false,
    .build = build_gtopk,
    .parameters = &parameter_set<TopkForm>,
};

}  // namespace lacuna
