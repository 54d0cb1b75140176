#include <gtest/gtest.h>

#include "algorithms/registry/registry.hpp"
#include "runtime/graph/graph_cost.hpp"
#include "runtime/graph/plan.hpp"

namespace lacuna {
namespace {

TEST(TreeBroadcast, ThoseWithMostBelowThemAreSentToFirst) {
  Call call{.collective = Collective::Broadcast};
  call.options.algorithm = "tree";
  const Algorithm& tree = **select_algorithm(call, 16);
  const Graph root = build_graph(tree, {.collective = Collective::Broadcast, .size = 16, .position = 0});
  std::vector<Rank> order;
  for (const Step& step : root.steps()) {
    if (step.sends()) order.push_back(step.peer);
  }
  EXPECT_EQ(order, (std::vector<Rank>{8, 4, 2, 1}));
}

/// Position p says that p + 1 ranks have contributed to its piece.
const Algorithm ascending = {
    .collective = Collective::Allreduce,
    .name = "ascending",
    .summary = "a test's",
    .symmetric = false,
    .build =
        [](GraphBuilder& g) {
          g.copy(g.output(g.position()), g.input(g.position()));
          g.finish(g.output(g.position()), g.position() + 1);
        },
};

TEST(GraphCost, CountsTheFewestAndAllContributionsInWhateverOrder) {
  runtime::GraphCost costs(*graphs_of(ascending, 3));
  const runtime::PartCost& cost = costs.of(0, 30);
  EXPECT_EQ(cost.fewest, 1);
  EXPECT_EQ(cost.reduced, 30u);
  EXPECT_EQ(cost.contributions, 10u * (1 + 2 + 3));
}

TEST(GraphCost, OfAPositionAndALengthIsTheSameWhateverWasAskedForBefore) {
  for (const char* name : {"tree", "ring"}) {
    const bool is_tree = name == std::string_view("tree");
    Call call{.collective = is_tree ? Collective::Broadcast : Collective::Allreduce};
    call.options.algorithm = name;
    const Algorithm& algorithm = **select_algorithm(call, 5);
    runtime::GraphCost costs(*graphs_of(algorithm, 5));
    for (int time = 0; time < 2; ++time) {
      for (const std::size_t count : {7u, 8u, 1000u}) {
        for (Rank position = 0; position < 5; ++position) {
          const runtime::PartCost known = costs.of(position, count);
          const runtime::PartCost anew = runtime::GraphCost(*graphs_of(algorithm, 5)).of(position, count);
          EXPECT_EQ(known.sent.elements, anew.sent.elements) << name << " " << position << " " << count;
          EXPECT_EQ(known.received.elements, anew.received.elements) << name << " " << position << " " << count;
          EXPECT_EQ(known.contributions, anew.contributions) << name << " " << position << " " << count;
        }
      }
    }
  }
}

TEST(Parts, OfBlocksGoByTheLongestOfThoseThatAllRanksKnow) {
  const std::vector<std::size_t> counts = {100, 6400, 0};
  for (const Collective collective : {Collective::Allgatherv, Collective::ReduceScatterv}) {
    Call call{.collective = collective, .count = 1, .dtype = Dtype::U8};
    const bool gathers = collective == Collective::Allgatherv;
    (gathers ? call.output_blocks : call.input_blocks).counts = counts;
    EXPECT_EQ(number_of_parts(call, call.count, 3, 800), 8u) << to_string(collective);
  }
}

TEST(Parts, HavePiecesAsLongAsAChunkHoweverLongTheCallIs) {
  constexpr std::size_t chunk = 256 << 10;
  for (std::size_t parts = 1; parts <= most_parts; parts *= 2) {
    for (const Rank size : {1, 2, 8}) {
      const std::size_t bytes = parts * chunk * static_cast<std::size_t>(size);
      const Call call{.collective = Collective::Allreduce, .count = bytes / 4, .dtype = Dtype::F32};
      EXPECT_EQ(number_of_parts(call, call.count, size, chunk), parts) << bytes << " bytes on " << size << " ranks";
    }
  }
  const Call longest{.collective = Collective::Allreduce, .count = std::size_t{1} << 40, .dtype = Dtype::F32};
  EXPECT_EQ(number_of_parts(longest, longest.count, 2, chunk), most_parts);
}

}  // namespace
}  // namespace lacuna
