#include "examples/workloads/parallel_mlp/grid.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/bindings/cpp/facade_ranks.hpp"

namespace lacuna::workloads {
namespace {

TEST(Grid, NumbersTensorGroupsFirstThenStagesThenReplicas) {
  const GridSizes sizes{2, 3, 4};
  EXPECT_EQ(place_of(0, sizes), (GridPlace{.data = 0, .pipeline = 0, .tensor = 0}));
  EXPECT_EQ(place_of(2, sizes), (GridPlace{.data = 0, .pipeline = 0, .tensor = 2}));
  EXPECT_EQ(place_of(3, sizes), (GridPlace{.data = 0, .pipeline = 1, .tensor = 0}));
  EXPECT_EQ(place_of(23, sizes), (GridPlace{.data = 1, .pipeline = 3, .tensor = 2}));
}

TEST(Grid, GroupsHoldTheRanksThatDifferInOneCoordinate) {
  const GridSizes sizes{2, 3, 2};
  auto world = test::local(12, Progress::Thread);
  test::on_each(world, [&](Communicator& rank) {
    const Result<Grid> grid = make_grid(rank, sizes);
    ASSERT_TRUE(grid) << grid.status().to_string();
    const Rank me = rank.rank(), pair = me % 6;
    EXPECT_EQ(grid->data.job_ranks(), (std::vector<Rank>{pair, pair + 6}));
    EXPECT_EQ(grid->tensor.job_ranks(), (std::vector<Rank>{me - me % 3, me - me % 3 + 1, me - me % 3 + 2}));
    EXPECT_EQ(grid->pipeline.job_ranks(), (std::vector<Rank>{me / 6 * 6 + me % 3, me / 6 * 6 + me % 3 + 3}));
    EXPECT_EQ(grid->data.rank(), grid->place.data);
  });
}

}  // namespace
}  // namespace lacuna::workloads
