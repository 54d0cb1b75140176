#include <bit>

#include "runtime/algorithm.hpp"

namespace lacuna {
namespace {

/// The parent of number i of 1 .. n in the search tree whose root is the largest power of two: the numbers with k zeros
/// at their end stand at height k. 0: the root has none. Where the parent would be larger than n, its own parent is.
Rank parent_of(Rank i, Rank n) {
  if (i == static_cast<Rank>(std::bit_floor(static_cast<unsigned>(n)))) return 0;
  do {
    const Rank lowest = i & -i;
    i = (i - lowest) | 2 * lowest;
  } while (i > n);
  return i;
}

/// Reduces one half of the data up a tree and broadcasts it down again. In the first tree number i is position i - 1,
/// in the second i - 2 (around P): odd numbers are leaves, so that no position is inner to both.
void add_tree(GraphBuilder& g, Rank half) {
  const Rank p = g.size(), me = (g.position() + half) % p + 1, parent = parent_of(me, p);
  const auto position_of = [&](Rank number) { return number - 1 - half + p; };
  const Region result = g.output(half, half + 1, 2);
  Region sum = g.input(half, half + 1, 2);
  for (Rank child = 1; child <= p; ++child) {
    if (parent_of(child, p) != me) continue;
    g.receive_reduce(result, sum, position_of(child));
    sum = result;
  }
  if (parent == 0) {
    if (p == 1) g.copy(result, sum);
    g.finish(result);
  } else {
    g.send(sum, position_of(parent));
    g.receive(result, position_of(parent));
  }
  for (Rank child = 1; child <= p; ++child) {
    if (parent_of(child, p) == me) g.send(result, position_of(child));
  }
}

}  // namespace

// Two complementary binary trees, each for one half of the data: what is inner to one is a leaf of the other, so that
// with many parts in flight all ranks send at full rate (Sanders, Speck, Traeff, 2009, section 3).
// About 2 log2 P steps; a rank sends half the data to each of its at most 3 neighbours in each tree.
extern const Algorithm allreduce_double_tree;
const Algorithm allreduce_double_tree = {
    .collective = Collective::Allreduce,
    .name = "double_tree",
    .summary = "2 log2 P steps, 2(P-1)/P of the data per rank on average; for medium data on many ranks",
    .symmetric = false,
    .supports = nullptr,
    .build =
        [](GraphBuilder& g) {
          add_tree(g, 0);
          add_tree(g, 1);
        },
    .bind = nullptr,
};

}  // namespace lacuna
