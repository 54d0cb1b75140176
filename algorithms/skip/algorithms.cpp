#include <algorithm>
#include <array>
#include <bit>

#include "algorithms/phases/grid_phases.hpp"
#include "algorithms/phases/tree_phases.hpp"
#include "algorithms/skip/skipping.hpp"

// These programs can leave rounds out. Each row says what the result lacks then.
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

// SkipReduce (MICRO 2025, section 4) is the ring allreduce without its first S reduce-scatter rounds. Each piece starts
// its way S ranks later, so that the S ranks that follow its owner never add to it.
// It takes 2(P-1)-S rounds. Each rank sends (2(P-1)-S)/P of the data. P-S ranks contribute to each piece, always with
// its owner among them.
constexpr Skipping ring = {
    .algorithm = {&allreduce_ring, "skip_ring",
                  "SkipReduce: S reduce-scatter rounds left out; 2(P-1)-S rounds, (2(P-1)-S)/P of the data per rank"},
    .most = rounds_around,
    .left_out = share_around,
};

// This is halving and doubling without the first S rounds of halving, which carry the most. The ranks of each block of
// P'/2^S sum up a share of the data among themselves, and no other rank adds to it. P' is the largest power of two.
// It takes 2 log2 P' - S rounds. Each of the P' ranks saves 1 - 2^-S of the data. 1 rank in 2^S contributes to a share;
// where P is no power of two, this holds on average.
constexpr Skipping halving_doubling = {
    .algorithm = {&allreduce_halving_doubling, "skip_halving_doubling",
                  "S rounds of halving left out: 1 rank in 2^S contributes; saves 1 - 2^-S of the data per rank"},
    .most =
        [](const Hosts& hosts) { return static_cast<int>(std::bit_width(static_cast<unsigned>(hosts.size()))) - 1; },
    .left_out = [](const Hosts&, int steps) { return 1 - 1.0 / (1 << steps); },
};

// The lowest S levels of both trees stay out of the reduction: a position that is less than S levels above its lowest
// leaf sends nothing up, and gets the result as always. In each tree the first level is half of the positions, and the
// next level half of the rest. So the last rounds that are left out cost the fewest contributions.
// It takes S rounds less on the way up. Each position that stays out of a tree saves half of the data.
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

// This is the 2-D torus of r rows and c columns without S rounds of its reductions. The first ones along the rows,
// which carry 1/c of the data each, are left out up to c-1; then those along the columns, which carry 1/P each. With a
// and b rounds left out along rows and columns, (c-a)(r-b) ranks contribute to a piece.
// It takes 2(r+c-2)-S rounds. Each rank sends 2(P-1)/P - a/c - b/P of the data.
constexpr Skipping torus = {
    .algorithm = {&allreduce_torus, "skip_torus", "S rounds left out, along rows first: 2(r+c-2)-S rounds for P = r c"},
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

// Two levels are dense inside a host. Between the h hosts the ring leaves out its first S reduce-scatter rounds, so
// that the S hosts that follow the owner's host contribute nothing to a piece. The mode random rotates the hosts. Each
// host loses each piece equally often where the ranks of a host stand together.
// It takes S rounds less. Each of them carries 1/P of the data with the same number of ranks on every host, and 1/h
// between leaders otherwise. The ranks of h-S hosts contribute.
constexpr Skipping two_level = {
    .algorithm = {&allreduce_two_level, "skip_two_level",
                  "dense inside a host, S rounds left out between h hosts: the ranks of h-S hosts contribute"},
    .most = [](const Hosts& hosts) { return hosts.count() - 1; },
    .left_out = [](const Hosts& hosts, int steps) { return static_cast<double>(steps) / hosts.count(); },
};

// These are the halves of the ring by themselves. Without the first S rounds of the first half, the S ranks that follow
// a block's owner in the ring do not contribute to the block. Without the last S rounds of the second half, each rank
// lacks the blocks of the S ranks that follow it.
// Both take P-1-S rounds. Each rank sends (P-1-S)/P of the larger buffer.
constexpr Skipping scattering = {
    .algorithm = {&reduce_scatter_ring, "skip_ring",
                  "SkipReduce: S rounds left out; P-1-S rounds, (P-1-S)/P of the input per rank"},
    .most = rounds_around,
    .left_out = share_around,
};
constexpr Skipping gathering = {
    .algorithm = {&allgather_ring, "skip_ring",
                  "SkipReduce: S rounds left out; P-1-S rounds, each rank lacks S blocks"},
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
