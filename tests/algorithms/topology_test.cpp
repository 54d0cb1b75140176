#include "algorithms/topology/topology.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

namespace lacuna {
namespace {

using Ranks = std::vector<Rank>;
using Lists = Topology::Lists;

TEST(Topology, ARingInAnyOrderHasItsNeighboursInThatOrder) {
  const Topology ring = *Topology::ring({3, 0, 4, 1, 2});
  EXPECT_EQ(ring.size(), 5);
  EXPECT_EQ(ring.neighbours(0), (Ranks{3, 4}));
  EXPECT_EQ(ring.neighbours(2), (Ranks{1, 3}));
  EXPECT_EQ(ring.coordinates(1), (Ranks{3}));
  const Line line = ring.line(4);
  EXPECT_EQ(line.positions, (Ranks{3, 0, 4, 1, 2}));
  EXPECT_EQ(line.own, 2);
  EXPECT_EQ(line.at(5), 3);
  EXPECT_EQ(line.at(-1), 2);
  EXPECT_EQ(Topology::ring(2).neighbours(0), (Ranks{1}));
  EXPECT_EQ(Topology::ring(1).neighbours(0), Ranks{});
}

TEST(Topology, ATorusIsAsSquareAsItsSizeAllows) {
  for (Rank size = 1; size <= 100; ++size) {
    const Topology torus = Topology::torus(size);
    const Rank rows = torus.line(0, 0).size(), columns = torus.line(0, 1).size();
    ASSERT_EQ(rows * columns, size);
    ASSERT_LE(rows, columns);
    for (Rank between = rows + 1; between * between <= size; ++between) ASSERT_NE(size % between, 0) << size;
  }
  const Topology torus = *Topology::torus(3, 4);
  EXPECT_EQ(torus.coordinates(6), (Ranks{1, 2}));
  EXPECT_EQ(torus.line(6, 1).positions, (Ranks{4, 5, 6, 7}));
  EXPECT_EQ(torus.line(6, 0).positions, (Ranks{2, 6, 10}));
  EXPECT_EQ(torus.neighbours(3), (Ranks{11, 7, 2, 0}));
}

TEST(Topology, NeighboursInAHypercubeDifferInOneBit) {
  for (Rank size : {1, 2, 8, 32}) {
    const Topology cube = *Topology::hypercube(size);
    for (Rank i = 0; i < size; ++i) {
      const Ranks neighbours = cube.neighbours(i);
      ASSERT_EQ(neighbours.size(), static_cast<std::size_t>(cube.dimensions()));
      for (int d = 0; d < cube.dimensions(); ++d) EXPECT_EQ(neighbours[static_cast<std::size_t>(d)], i ^ (1 << d));
    }
  }
}

TEST(Topology, TwoLevelsHaveHostsAndPlacesAndATreeOnEachHost) {
  const Topology hosts = Topology::two_level(Hosts(Ranks{7, 7, 3, 7, 3, 7}));
  EXPECT_EQ(hosts.coordinates(4), (Ranks{1, 1}));
  EXPECT_EQ(hosts.line(3, 1).positions, (Ranks{0, 1, 3, 5}));
  EXPECT_EQ(hosts.line(0, 0).positions, (Ranks{0, 2}));
  EXPECT_EQ(hosts.line(5, 0).positions, (Ranks{5}));
  EXPECT_EQ(hosts.children(0), (Ranks{1, 3}));
  EXPECT_EQ(hosts.parent(5), 3);
  EXPECT_EQ(hosts.parent(4), 2);
  EXPECT_EQ(hosts.parent(2), std::nullopt);
}

/// Goes down from the only root and expects to meet every position once.
void expect_tree(const Topology& tree, Rank size) {
  ASSERT_EQ(tree.size(), std::max(size, 0));
  std::multiset<Rank> met;
  Ranks open;
  for (Rank i = 0; i < size; ++i) {
    if (!tree.parent(i)) open.push_back(i);
  }
  ASSERT_EQ(open.size(), size > 0 ? 1u : 0u);
  while (!open.empty()) {
    const Rank at = open.back();
    open.pop_back();
    met.insert(at);
    for (Rank child : tree.children(at)) {
      ASSERT_EQ(tree.parent(child), at);
      open.push_back(child);
    }
  }
  ASSERT_EQ(met.size(), static_cast<std::size_t>(tree.size()));
  ASSERT_EQ(std::set(met.begin(), met.end()).size(), met.size());
}

TEST(Topology, TreesOfAllSizesHaveOneRootFromWhichEveryPositionIsReached) {
  for (Rank size = -1; size <= 70; ++size) {
    ASSERT_NO_FATAL_FAILURE(expect_tree(Topology::binomial_tree(size), size));
    ASSERT_NO_FATAL_FAILURE(expect_tree(Topology::binary_tree(size), size));
    ASSERT_NO_FATAL_FAILURE(expect_tree(Topology::star(size), size));
    for (const Topology& tree : Topology::double_binary_tree(size)) ASSERT_NO_FATAL_FAILURE(expect_tree(tree, size));
  }
}

TEST(Topology, OfTheDoubleTreeNoPositionIsInnerToBothAndNoneHasThreeChildren) {
  for (Rank size = 1; size <= 70; ++size) {
    const auto trees = Topology::double_binary_tree(size);
    for (Rank i = 0; i < size; ++i) {
      const std::size_t first = trees[0].children(i).size(), second = trees[1].children(i).size();
      EXPECT_TRUE(first == 0 || second == 0) << i << " of " << size;
      EXPECT_LE(std::max(first, second), 2u);
    }
  }
}

TEST(Topology, ParentsAndChildrenOfTheUsersOwnDescribeOneTree) {
  const Topology by_parents = *Topology::from_parents({1, -1, 1, 0, 0});
  const Topology by_children = *Topology::from_children({{4, 3}, {0, 2}, {}, {}, {}});
  for (const Topology& tree : {by_parents, by_children}) {
    ASSERT_NO_FATAL_FAILURE(expect_tree(tree, 5));
    EXPECT_EQ(tree.children(0), (Ranks{3, 4}));
    EXPECT_EQ(tree.neighbours(0), (Ranks{1, 3, 4}));
  }
  const Topology star = *Topology::from_neighbours({{2}, {2}, {0, 1, 3}, {2}});
  EXPECT_EQ(star.neighbours(2), (Ranks{0, 1, 3}));
  EXPECT_FALSE(star.has_parents());
}

TEST(Topology, WhatIsNoneIsRefusedWithWhatWasGivenAndWhatIsAllowed) {
  const auto refused = [](const Result<Topology>& topology, const std::string& text) {
    ASSERT_FALSE(topology) << text;
    EXPECT_EQ(topology.status().code(), Code::InvalidArgument);
    EXPECT_EQ(topology.status().message(), text);
  };
  refused(Topology::ring(Ranks{}), "the order of a ring is empty; it must hold 1 position or more");
  refused(Topology::ring({0, 3, 1}), "place 1 of a ring has position 3, must be 0 .. 2");
  refused(Topology::ring({1, 0, 1}), "places 0 and 2 of a ring have position 1; each must stand there once");
  refused(Topology::torus(0, 4),
          "a torus of 0 x 4: rows and columns must be 1 or more, of 2147483647 positions at most");
  refused(Topology::torus(1 << 16, 1 << 16),
          "a torus of 65536 x 65536: rows and columns must be 1 or more, of 2147483647 positions at most");
  refused(Topology::hypercube(6), "a hypercube of 6 positions: must be a power of two");
  refused(Topology::from_parents({-1, 5}), "position 1 has parent 5, must be another one of 0 .. 1");
  refused(Topology::from_parents({-1, 1}), "position 1 has parent 1, must be another one of 0 .. 1");
  refused(Topology::from_parents({-1, 0, -1}), "positions 0 and 2 have no parent; a tree has one root");
  refused(Topology::from_parents({1, 0}), "none of 2 positions is the root of the tree, with parent -1");
  refused(Topology::from_parents({-1, 2, 1}), "the parents of position 1 go in a circle; they must lead to the root 0");
  refused(Topology::from_children({{1, 2}, {2}, {}}), "position 2 is a child of 0 and of 1; it must have one parent");
  refused(Topology::from_children({{-1}}), "position 0 has child -1, must be another one of 0 .. 0");
  refused(Topology::from_neighbours({}), "lists of neighbours of no position; there must be 1 or more");
  refused(Topology::from_neighbours({{1}, {}}),
          "position 0 has neighbour 1, which has not 0; both must have each other");
  refused(Topology::from_neighbours({{1, 1}, {0}}), "position 0 has neighbour 1 twice; it must have it once");
  refused(Topology::from_neighbours({{1}, {0}, {}}),
          "no way leads from position 0 to 2; all positions must be connected");
}

TEST(Topology, ListsNameNoPositionBeforeTheFirstOrBehindTheLast) {
  constexpr Rank least = std::numeric_limits<Rank>::min(), most = std::numeric_limits<Rank>::max();
  for (const Rank size : {1, 2, 3, 8}) {
    for (const Rank none : {least, -2, -1, size, size + 1, most}) {
      for (Rank at = 0; at < size; ++at) {
        const auto refused = [&](const Result<Topology>& topology) {
          ASSERT_FALSE(topology) << none << " at " << at << " of " << size;
          EXPECT_EQ(topology.status().code(), Code::InvalidArgument);
          EXPECT_NE(topology.status().message().find(fmt::format(" {}, must be ", none)), std::string::npos)
              << topology.status().message();
        };
        const auto i = static_cast<std::size_t>(at);
        Ranks order(static_cast<std::size_t>(size)), parents(order.size(), 0);
        std::iota(order.begin(), order.end(), 0);
        order[i] = none;
        refused(Topology::ring(order));
        parents[0] = -1;
        parents[i] = none;
        if (none != -1) refused(Topology::from_parents(parents));  // -1 is the root's
        Lists lists(order.size());
        lists[i] = {none};
        refused(Topology::from_children(lists));
        refused(Topology::from_neighbours(lists));
      }
    }
  }
}

TEST(Topology, OfTwoPositionsEachMayNameTheOther) {
  EXPECT_EQ(Topology::ring({1, 0})->neighbours(1), (Ranks{0}));
  EXPECT_EQ(Topology::from_parents({1, -1})->parent(0), 1);
  EXPECT_EQ(Topology::from_children({{}, {0}})->parent(0), 1);
  EXPECT_EQ(Topology::from_neighbours({{1}, {0}})->neighbours(0), (Ranks{1}));
}

TEST(Topology, ATorusOfMorePositionsThanCountIsRefused) {
  constexpr Rank most = std::numeric_limits<Rank>::max();
  for (const auto& [rows, columns] : {std::pair<Rank, Rank>{1 << 16, 1 << 15},
                                      {1 << 15, 1 << 16},
                                      {46341, 46341},
                                      {most, 2},
                                      {2, most},
                                      {most, most},
                                      {1 << 30, 4}}) {
    EXPECT_FALSE(Topology::torus(rows, columns)) << rows << " x " << columns;
  }
}

TEST(Hosts, AreNumberedByTheirFirstRankAndKnowWhetherTheyAreEven) {
  const Hosts hosts(std::vector<std::string>{"b", "a", "b", "c"});
  EXPECT_EQ(hosts.size(), 4);
  EXPECT_EQ(hosts.count(), 3);
  EXPECT_EQ(hosts.host_of(2), 0);
  EXPECT_EQ(hosts.host_of(1), 1);
  EXPECT_EQ(hosts.ranks_on_each(), 0);
  EXPECT_EQ(hosts, Hosts(Ranks{5, 9, 5, 1}));
  EXPECT_EQ(Hosts(Ranks{1, 0, 1, 0}).ranks_on_each(), 2);
  EXPECT_EQ(Hosts(Ranks{4, 4, 4}), Hosts(3));
  EXPECT_EQ(Hosts(3).ranks_on_each(), 3);
  EXPECT_EQ(Hosts().count(), 0);
}

TEST(Hosts, AreCrowdedIfOneHasMoreRanksThanARankSaysItHasProcessors) {
  const Hosts hosts(Ranks{0, 0, 1, 0, 1});
  EXPECT_FALSE(hosts.is_crowded());
  const std::vector<std::uint32_t> enough = {3, 3, 2, 4, 8}, few = {3, 3, 2, 2, 8}, fewer = {3, 3, 2, 3, 1};
  EXPECT_FALSE(hosts.with_processors(enough).is_crowded());
  for (const auto& processors : {few, fewer}) {
    const Hosts crowded = hosts.with_processors(processors);
    EXPECT_TRUE(crowded.is_crowded());
    EXPECT_EQ(crowded, hosts);
    EXPECT_TRUE(crowded.of(Ranks{0, 2}).is_crowded());
    EXPECT_TRUE(crowded.turned(2).is_crowded());
    EXPECT_FALSE(crowded.with_processors(enough).is_crowded());
  }
  EXPECT_TRUE(Hosts(2).with_processors(std::vector<std::uint32_t>{1, 1}).of(Ranks{1}).is_crowded());
}

TEST(Hosts, OfMembersAndOfTurnedPositionsFollowTheirRanks) {
  const Hosts hosts(Ranks{0, 0, 1, 2});
  EXPECT_EQ(hosts.of(Ranks{3, 1, 0}), Hosts(Ranks{2, 0, 0}));
  EXPECT_EQ(hosts.of(Ranks{1, 0}), Hosts(2));
  for (Rank shift = 0; shift < 4; ++shift) {
    Ranks turned;
    for (Rank position = 0; position < 4; ++position) turned.push_back(hosts.host_of((position + shift) % 4));
    EXPECT_EQ(hosts.turned(shift), Hosts(turned));
  }
}

}  // namespace
}  // namespace lacuna
