#include <bit>

#include "runtime/algorithm.hpp"

namespace lacuna {
namespace {

void build(GraphBuilder& g) {
  const Rank p = g.size(), me = g.position();
  const auto core = static_cast<Rank>(std::bit_floor(static_cast<unsigned>(p)));
  const int rounds = std::bit_width(static_cast<unsigned>(core)) - 1;

  if (me >= core) {  // one of the last p - core: give the input to a partner, take the result
    g.send(g.input(), me - core);
    g.receive(g.output(), me - core);
    return;
  }
  // value(k) is the sum after k rounds. It never lies where round k sends from: the partner may still be reading.
  const bool has_partner = me + core < p;
  const auto value = [&](int k) { return k == rounds ? g.output() : g.scratch(k % 2, g.output()); };
  Region sum = g.input();
  if (has_partner) {
    g.receive_reduce(value(0), sum, me + core);
    sum = value(0);
  } else if (rounds == 0 || (rounds == 1 && g.in_place())) {
    g.copy(value(0), sum);
    sum = value(0);
  }
  for (int k = 0; k < rounds; ++k) {
    g.send(sum, me ^ (1 << k));
    g.receive_reduce(value(k + 1), sum, me ^ (1 << k));
    sum = value(k + 1);
  }
  g.finish(g.output());
  if (has_partner) g.send(g.output(), me + core);
}

}  // namespace

// In round k each rank exchanges everything that it has summed with the rank at distance 2^k. With P not a power of two
// the ranks beyond it hand their input to a partner first and get the result last (Rabenseifner, Traeff, 2004).
// ceil(log2 P) steps (one more when P is no power of two); each rank sends log2 P times the data.
extern const Algorithm allreduce_recursive_doubling;
const Algorithm allreduce_recursive_doubling = {
    .collective = Collective::Allreduce,
    .name = "recursive_doubling",
    .summary = "log2 P steps, log2 P times the data per rank; for small data",
    .symmetric = false,
    .supports = nullptr,
    .build = build,
    .bind = nullptr,
};

}  // namespace lacuna
