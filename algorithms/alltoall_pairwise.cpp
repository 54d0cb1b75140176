#include "runtime/graph/algorithm.hpp"

namespace lacuna {
namespace {

constexpr int saved_blocks = 4;  // how many exchanges are under way at a time in place

void build_alltoall_pairwise(GraphBuilder& g) {
  const Rank p = g.size(), me = g.position();
  for (Rank round = 0; round < p; ++round) {
    const Rank peer = (round - me + p) % p;
    Region block = g.input(peer);
    if (peer == me) {
      g.copy(g.output(me), block);
      continue;
    }
    if (g.in_place()) {
      const Region saved = g.scratch(round % saved_blocks, block);
      g.copy(saved, block);
      block = saved;
    }
    g.send(block, peer);
    g.receive(g.output(peer), peer);
  }
}

}  // namespace

// In round k the ranks whose numbers add up to k (modulo P) exchange their blocks. Each round is a set of disjoint
// pairs, so that no two ranks send to the same one. In place, a block is copied to scratch before the peer's block
// overwrites it.
// It takes P rounds, in one of which a rank copies its own block. Each rank sends P-1 blocks.
extern const Algorithm alltoall_pairwise;
constexpr Algorithm alltoall_pairwise = {
    .collective = Collective::Alltoall,
    .name = "pairwise",
    .summary = "P rounds of disjoint pairs; each rank sends P-1 blocks",
    .symmetric = false,
    .build = build_alltoall_pairwise,
};

// The same program serves blocks of different lengths.
extern const Algorithm alltoallv_pairwise;
constexpr Algorithm alltoallv_pairwise =
    serving(Collective::Alltoallv, "P rounds of disjoint pairs; each rank sends P-1 blocks", alltoall_pairwise);

}  // namespace lacuna
