#include "algorithms/topology/process_grid.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace lacuna {
namespace {

std::vector<Rank> lengths_of(const ProcessGrid& grid) {
  std::vector<Rank> lengths;
  for (const Side& side : grid.sides()) lengths.push_back(side.length);
  return lengths;
}

/// The lengths whose greatest is smallest, then the next one and so on, found by trying all.
std::vector<Rank> best_lengths(Rank size, int dimensions) {
  if (dimensions == 1) return {size};
  std::vector<Rank> best;
  for (Rank last = 1; last <= size; ++last) {
    if (size % last != 0) continue;
    std::vector<Rank> lengths = best_lengths(size / last, dimensions - 1);
    if (lengths.back() < last) continue;  // they descend
    lengths.push_back(last);
    if (best.empty() || lengths < best) best = lengths;
  }
  return best;
}

TEST(ProcessGrids, ABalancedGridHasTheRanksAndDescendingLengths) {
  for (Rank size = 1; size <= 200; ++size) {
    for (int dimensions = 1; dimensions <= 4; ++dimensions) {
      const ProcessGrid grid = *ProcessGrid::balanced(size, dimensions);
      const std::vector<Rank> lengths = lengths_of(grid);
      EXPECT_EQ(std::accumulate(lengths.begin(), lengths.end(), Rank{1}, std::multiplies<>()), size);
      EXPECT_TRUE(std::is_sorted(lengths.rbegin(), lengths.rend())) << size << " in " << dimensions;
      EXPECT_TRUE(dimensions != 2 || lengths == best_lengths(size, 2)) << size;
    }
  }
}

TEST(ProcessGrids, CoordinatesCountWithTheLastOneFastest) {
  const ProcessGrid grid = *ProcessGrid::make({{.length = 2}, {.length = 3, .periodic = true}, {.length = 4}});
  Rank rank = 0;
  for (Rank i = 0; i < 2; ++i) {
    for (Rank j = 0; j < 3; ++j) {
      for (Rank k = 0; k < 4; ++k, ++rank) {
        EXPECT_EQ(grid.coordinates(rank), (std::vector<Rank>{i, j, k}));
        EXPECT_EQ(grid.rank_at({i, j, k}), rank);
        EXPECT_EQ(grid.rank_at({i, j - 6, k}), rank) << "the second side is periodic";
      }
    }
  }
  EXPECT_EQ(grid.size(), rank);
  EXPECT_EQ(grid.rank_at({2, 0, 0}), Neighbour::nobody);
  EXPECT_EQ(grid.rank_at({0, 0, -1}), Neighbour::nobody);
}

TEST(ProcessGrids, WhatIsSentInADirectionIsReceivedFromTheOppositeOneOfTheNeighbour) {
  for (Rank size = 1; size <= 12; ++size) {
    for (bool periodic : {false, true}) {
      const ProcessGrid grid = *ProcessGrid::balanced(size, 2, periodic);
      for (Rank rank = 0; rank < size; ++rank) {
        const auto mine = grid.neighbours(rank);
        ASSERT_EQ(mine.size(), 4u);
        for (std::size_t place = 0; place < 4; ++place) {
          EXPECT_EQ(mine[place].rank == Neighbour::nobody, mine[place].rank < 0);
          EXPECT_TRUE(!periodic || mine[place].rank != Neighbour::nobody);
          if (mine[place].rank == Neighbour::nobody) continue;
          const Neighbour back = grid.neighbours(mine[place].rank)[place ^ 1];
          EXPECT_EQ(back.rank, rank);
          EXPECT_EQ(back.receive_direction, mine[place].send_direction);
          EXPECT_EQ(back.send_direction, mine[place].receive_direction);
        }
      }
    }
  }
}

TEST(ProcessGrids, ATopologyGivesEachNeighbourOnce) {
  const auto found = neighbours_of(Topology::ring(2), 0);
  EXPECT_EQ(found, (std::vector<Neighbour>{{.rank = 1}}));
  EXPECT_EQ(neighbours_of(Topology::binary_tree(7), 1).size(), 3u);
}

TEST(ProcessGrids, WhatMakesNoGridIsRefused) {
  EXPECT_EQ(ProcessGrid::make({}).status().message(), "a process grid needs one side or more");
  EXPECT_EQ(ProcessGrid::make({{.length = 3}, {.length = 0}}).status().message(),
            "side 1 of the process grid has 0 ranks, must have 1 or more");
  EXPECT_EQ(ProcessGrid::make({{.length = 1 << 20}, {.length = 1 << 20}}).status().code(), Code::InvalidArgument);
  EXPECT_EQ(ProcessGrid::balanced(0, 2).status().code(), Code::InvalidArgument);
  EXPECT_EQ(ProcessGrid::balanced(2, 0).status().code(), Code::InvalidArgument);
}

}  // namespace
}  // namespace lacuna
