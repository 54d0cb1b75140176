#include <algorithm>
#include <array>
#include <bit>

#include "algorithms/phases/grid_phases.hpp"
#include "algorithms/phases/tree_phases.hpp"
#include "algorithms/skip/skipping.hpp"

// Which programs can leave rounds out, and what of the result they then lack.
namespace lacuna {

extern const Algorithm allreduce_ring, allreduce_halving_doubling, allreduce_double_tree, allreduce_torus,
    allreduce_two_level, reduce_scatter_ring, allgather_ring;

namespace {

int rounds_around(const Hosts& hosts) { return hosts.size() - 1; }
double share_around(const Hosts& hosts, int steps) { return static_cast<double>(steps) / hosts.size(); }

struct Sides {
  int rows, columns;
};

Sides sides(Rank size) {
  const Topology grid = Topology::torus(size);
  return {grid.line(0, 0).size(), grid.line(0, 1).size()};
}

// SkipReduce (MICRO 2025, section 4): the ring allreduce without its first S reduce-scatter steps. Each piece starts
// its way S ranks later, so the S ranks that follow its owner never add to it. 2(P-1)-S steps; each rank sends
// (2(P-1)-S)/P of the data; P-S ranks contribute to each piece, its owner always.
constexpr Skipping ring = {
    .algorithm = {&allreduce_ring, "skip_ring",
                  "SkipReduce: S reduce-scatter steps left out; 2(P-1)-S steps, (2(P-1)-S)/P of the data per rank"},
    .most = rounds_around,
    .left_out = share_around,
};

// Halving and doubling without the first S rounds of halving, which carry the most: the ranks of each block of P'/2^S
// sum up a share of the data among themselves, and none of the others adds to it. P' is the largest power of two.
// 2 log2 P' - S rounds; a rank of the P' saves 1 - 2^-S of the data; of all ranks 1 in 2^S contributes to a share,
// where P is no power of two on average.
constexpr Skipping halving_doubling = {
    .algorithm = {&allreduce_halving_doubling, "skip_halving_doubling",
                  "S rounds of halving left out: 1 rank in 2^S contributes; saves 1 - 2^-S of the data per rank"},
    .most =
        [](const Hosts& hosts) { return static_cast<int>(std::bit_width(static_cast<unsigned>(hosts.size()))) - 1; },
    .left_out = [](const Hosts&, int steps) { return 1 - 1.0 / (1 << steps); },
};

// The double tree whose lowest S levels stay out of the reduction: a position that is less than S levels above its
// lowest leaf sends nothing up, and gets the result as always. In each tree the first level is half of the positions,
// the next one half of the rest: the last steps cost the fewest contributions.
// S steps less on the way up; each position that stays out of a tree saves half of the data.
constexpr Skipping double_tree = {
    .algorithm = {&allreduce_double_tree, "skip_double_tree",
                  "the lowest S levels of both trees left out: about 1 rank in 2^S contributes"},
    .most = [](const Hosts& hosts) { return levels_of_double_tree(hosts.size()); },
    .left_out =
        [](const Hosts& hosts, int steps) {
          const auto trees = Topology::double_binary_tree(hosts.size());
          const Rank there = tree_contributors(trees[0], steps) + tree_contributors(trees[1], steps);
          return 1 - there / (2.0 * hosts.size());
        },
};

// The 2-D torus of r rows and c columns without S steps of its reductions: the first ones along the rows, which carry
// 1/c of the data each, up to c-1; then those along the columns, of 1/P each. With a and b steps left out along rows
// and columns (c-a)(r-b) ranks contribute to a piece. 2(r+c-2)-S steps; each rank sends 2(P-1)/P - a/c - b/P of the
// data.
constexpr Skipping torus = {
    .algorithm = {&allreduce_torus, "skip_torus", "S steps left out, along rows first: 2(r+c-2)-S steps for P = r c"},
    .most =
        [](const Hosts& hosts) {
          const auto [rows, columns] = sides(hosts.size());
          return rows + columns - 2;
        },
    .left_out =
        [](const Hosts& hosts, int steps) {
          const auto [rows, columns] = sides(hosts.size());
          const auto [in_rows, in_columns] = rows_first(steps, columns);
          return 1 - static_cast<double>((columns - in_rows) * (rows - in_columns)) / hosts.size();
        },
};

// Two levels, dense inside a host: between the h hosts the ring leaves out its first S reduce-scatter steps, so that to
// each piece the S hosts that follow its owner's contribute nothing. Random turns the hosts: each loses each piece
// equally often where the ranks of a host stand together.
// S steps less, of 1/P of the data each with k ranks on every host, of 1/h between leaders otherwise; the ranks of h-S
// hosts contribute.
constexpr Skipping two_level = {
    .algorithm = {&allreduce_two_level, "skip_two_level",
                  "dense inside a host, S steps left out between h hosts: the ranks of h-S hosts contribute"},
    .most = [](const Hosts& hosts) { return hosts.count() - 1; },
    .left_out = [](const Hosts& hosts, int steps) { return static_cast<double>(steps) / hosts.count(); },
};

// The ring's halves by themselves. Without the first S steps of the first, the S ranks that follow a block's owner in
// the ring do not contribute to it; without the last S steps of the second, each rank lacks the blocks of the S ranks
// that follow it. P-1-S steps; each rank sends (P-1-S)/P of the larger buffer.
constexpr Skipping scattering = {
    .algorithm = {&reduce_scatter_ring, "skip_ring",
                  "SkipReduce: S steps left out; P-1-S steps, (P-1-S)/P of the input per rank"},
    .most = rounds_around,
    .left_out = share_around,
};
constexpr Skipping gathering = {
    .algorithm = {&allgather_ring, "skip_ring", "SkipReduce: S steps left out; P-1-S steps, each rank lacks S blocks"},
    .most = rounds_around,
    .left_out = share_around,
};

constexpr std::array<const Skipping*, 7> all = {&ring,      &halving_doubling, &double_tree, &torus,
                                                &two_level, &scattering,       &gathering};

}  // namespace

constexpr std::array<MethodAlgorithm, 7> skip_algorithms = [] {
  std::array<MethodAlgorithm, all.size()> some{};
  for (std::size_t i = 0; i < all.size(); ++i) some[i] = all[i]->algorithm;
  return some;
}();

const Skipping* skipping_of(const Algorithm& algorithm) {
  for (const Skipping* one : all) {
    if (one->algorithm.algorithm == &algorithm) return one;
  }
  return nullptr;
}

}  // namespace lacuna
