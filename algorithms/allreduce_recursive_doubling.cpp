#include "algorithms/phases/hypercube_phases.hpp"
#include "runtime/graph/algorithm.hpp"

namespace lacuna {
namespace {

void build_allreduce_recursive_doubling(GraphBuilder& g) {
  const Topology cube = largest_hypercube(g);
  if (g.position() >= cube.size()) return be_served(g, cube, cube.size());
  const auto outside = partner_outside(g, cube);
  const int rounds = cube.dimensions();

  // value(k) is the sum after k rounds. It never lies where round k sends from, because the peer may still be reading
  // there.
  const auto value = [&](int k) { return k == rounds ? g.output() : g.scratch(k % 2, g.output()); };
  Region sum = g.input();
  if (outside) {
    g.receive_reduce(value(0), sum, *outside, Brings::Term);
    sum = value(0);
  } else if (rounds == 0 || (rounds == 1 && g.in_place())) {
    g.copy(value(0), sum);
    sum = value(0);
  }
  int k = 0;
  for (Rank peer : cube.neighbours(g.position())) {
    g.send(sum, peer);
    const Brings brings = k == 0 ? first_from(g, cube, peer) : Brings::Sum;
    g.receive_reduce(value(++k), sum, peer, brings);
    sum = value(k);
  }
  g.finish(g.output());
  if (outside) g.send(g.output(), *outside);
}

}  // namespace

// In round k each rank exchanges everything that it has summed with the rank at distance 2^k, which is its neighbour
// along dimension k of a hypercube. Partners in the hypercube serve the ranks beyond it.
// It takes ceil(log2 P) rounds, and one more when P is no power of two. Each rank sends log2 P times the data.
extern const Algorithm allreduce_recursive_doubling;
const Algorithm allreduce_recursive_doubling = {
    .collective = Collective::Allreduce,
    .name = "recursive_doubling",
    .summary = "log2 P rounds, log2 P times the data per rank; for small data",
    .symmetric = false,
    .build = build_allreduce_recursive_doubling,
};

}  // namespace lacuna
