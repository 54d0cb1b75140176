#include "algorithms/phases/hypercube_phases.hpp"
#include "algorithms/topk/running_sum.hpp"
#include "algorithms/topk/selecting.hpp"

namespace lacuna {
namespace {

void build_sparse_doubling(GraphBuilder& g) {
  const Topology cube = largest_hypercube(g);
  const Region own = sparse::pack_whole(g, select(g));
  if (g.position() >= cube.size()) {
    const Rank partner = g.position() - cube.size();
    g.send(own, partner);
    return sparse::place_pieces(g, {sparse::receive_message(g, partner)}, partner, 0, 1);
  }
  const auto outside = partner_outside(g, cube);
  const std::vector<Rank> peers = cube.neighbours(g.position());
  RunningSum sum(g, own, peers.size() + (outside ? 1 : 0));
  if (outside) sum.add(*outside);
  for (Rank peer : peers) {
    g.send(sum.message(), peer);
    sum.add(peer);
  }
  if (outside) g.send(sum.message(), *outside);
  sparse::place_pieces(g, {sum.message()}, g.position(), 0, 1);
}

}  // namespace

// In round k each rank exchanges all that it has summed with the rank at distance 2^k.
// It takes log2 P rounds if P is a power of two, else at most ceil(log2 P) + 1. Each rank gets the entries of the sums
// of 1, 2, 4 ... ranks. Source: Renggli, Ashkboos, Aghagolzadeh, Alistarh, Hoefler: SparCML (SC 2019), recursive
// doubling.
constexpr Algorithm sparse_doubling = {
    .collective = Collective::Allreduce,
    .name = "sparse_doubling",
    .symmetric = false,
    .build = build_sparse_doubling,
    .parameters = &parameter_set<TopkForm>,
};

}  // namespace lacuna
