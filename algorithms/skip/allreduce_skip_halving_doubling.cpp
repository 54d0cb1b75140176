#include "algorithms/phases/hypercube_phases.hpp"
#include "algorithms/skip/skip_order.hpp"

namespace lacuna {
namespace {

int rounds(const Hosts& hosts) { return std::bit_width(static_cast<unsigned>(hosts.size())) - 1; }

constexpr Skipping skipping = {
    .most = rounds,
    .left_out = [](const Hosts&, int steps) { return 1 - 1.0 / (1 << steps); },
};

}  // namespace

// Halving and doubling without the first S rounds of halving, which carry the most: the ranks of each block of P'/2^S
// sum up a share of the data among themselves, and none of the others adds to it. P' is the largest power of two.
// 2 log2 P' - S rounds; a rank of the P' saves 1 - 2^-S of the data; of all ranks 1 in 2^S contributes to a share,
// where P is no power of two on average.
extern const Algorithm allreduce_skip_halving_doubling;
const Algorithm allreduce_skip_halving_doubling = {
    .collective = Collective::Allreduce,
    .name = "skip_halving_doubling",
    .summary = "S rounds of halving left out: 1 rank in 2^S contributes; saves 1 - 2^-S of the data per rank",
    .symmetric = false,
    .supports = nullptr,
    .build = [](GraphBuilder& g) { halving_doubling_allreduce(g, g.skip_steps()); },
    .bind = skip_order,
    .skipping = &skipping,
};

}  // namespace lacuna
