#include "algorithms/hypercube_phases.hpp"
#include "runtime/algorithm.hpp"

namespace lacuna {
namespace {

void build(GraphBuilder& g) {
  const Topology cube = largest_hypercube(g);
  const Rank me = g.position(), core = cube.size();
  if (me >= core) return be_served(g, cube);
  const auto outside = partner_outside(g, cube);
  if (outside) {
    g.receive_reduce(g.output(), g.input(), *outside);
  } else if (core == 1) {
    g.copy(g.output(), g.input());
  }
  bool summed = outside || core == 1;
  const auto sum = [&](Rank begin, Rank end) {
    return summed ? g.output(begin, end, core) : g.input(begin, end, core);
  };

  Rank begin = 0, end = core;  // the pieces that this rank still sums up
  for (Rank distance = core / 2; distance > 0; distance /= 2) {
    const Rank middle = begin + distance, peer = me ^ distance;
    const bool upper = (me & distance) != 0;
    upper ? g.send(sum(begin, middle), peer) : g.send(sum(middle, end), peer);
    (upper ? begin : end) = middle;
    g.receive_reduce(g.output(begin, end, core), sum(begin, end), peer);
    summed = true;
  }
  g.finish(core == 1 ? g.output() : g.output(begin, end, core));
  for (Rank distance = 1; distance < core; distance *= 2) {
    const Rank peer = me ^ distance, there = peer & -distance;
    g.send(g.output(me & -distance, (me & -distance) + distance, core), peer);
    g.receive(g.output(there, there + distance, core), peer);
  }
  if (outside) g.send(g.output(), *outside);
}

}  // namespace

// Reduce-scatter by halving: in each round a pair splits what both still sum, and each takes over one half. Then the
// pieces are gathered the way back, doubling (Thakur, Rabenseifner, Gropp, 2005, section 4.5). Ranks beyond the largest
// hypercube are served by partners in it.
// 2 log2 P' steps on the P' = 2^floor(log2 P) first ranks (2 more when P is no power of two); each of them sends
// 2(P'-1)/P' of the data, and all of it once more to a partner; the others send the data once.
extern const Algorithm allreduce_halving_doubling;
const Algorithm allreduce_halving_doubling = {
    .collective = Collective::Allreduce,
    .name = "halving_doubling",
    .summary = "2 log2 P steps, 2(P-1)/P of the data per rank for P = 2^k; for medium data",
    .symmetric = false,
    .supports = nullptr,
    .build = build,
    .bind = nullptr,
};

}  // namespace lacuna
