#include <bit>

#include "runtime/algorithm.hpp"

namespace lacuna {
namespace {

void build(GraphBuilder& g) {
  const Rank p = g.size(), me = g.position();
  const auto core = static_cast<Rank>(std::bit_floor(static_cast<unsigned>(p)));
  if (me >= core) {  // one of the last p - core: give the input to a partner, take the result
    g.send(g.input(), me - core);
    g.receive(g.output(), me - core);
    return;
  }
  const bool has_partner = me + core < p;
  if (has_partner) {
    g.receive_reduce(g.output(), g.input(), me + core);
  } else if (core == 1) {
    g.copy(g.output(), g.input());
  }
  bool summed = has_partner || core == 1;
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
  if (has_partner) g.send(g.output(), me + core);
}

}  // namespace

// Reduce-scatter by halving: in each round a pair splits what both still sum, and each takes over one half. Then the
// pieces are gathered the way back, doubling. With P not a power of two the ranks beyond it hand their input to a
// partner first and get the result last (Thakur, Rabenseifner, Gropp, 2005, section 4.5).
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
