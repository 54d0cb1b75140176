#include "runtime/graph/contributions.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/graph_cost.hpp"
#include "runtime/graph/graphs.hpp"

namespace lacuna {
namespace {

/// Position 1 sends its first half to position 0 and gets all of position 2, which keeps its own data.
const Algorithm uneven = {
    .collective = Collective::Allreduce,
    .name = "uneven",
    .summary = "a test's",
    .symmetric = false,
    .build =
        [](GraphBuilder& g) {
          if (g.position() == 0) {
            g.receive_reduce(g.output(0, 1, 2), g.input(0, 1, 2), 1, Brings::Term);
            g.copy(g.output(1, 2, 2), g.input(1, 2, 2));
          } else if (g.position() == 1) {
            g.send(g.input(0, 2, 4), 0);
            const Region got = g.scratch(3, g.output());
            g.receive(got, 2);
            g.copy(g.output(), got);
            g.clear(g.output(3, 4, 4));
          } else {
            g.copy(g.output(), g.input());
            g.send(g.output(), 1);
          }
        },
};

using Arrived = std::vector<std::vector<bool>>;

TEST(Contributions, TellWhoseValuesArriveInEachRange) {
  const Graphs graphs = *graphs_of(uneven, 3);
  const auto cells = contributions_of(graphs.all());
  ASSERT_EQ(cells.size(), 3u);
  const std::vector<bool> nobody = {0, 0, 0}, zero = {1, 0, 0}, two = {0, 0, 1};
  EXPECT_EQ(boundary(cells[0].end.first, 8, cells[0].end.second), 4u);
  EXPECT_EQ(cells[0].arrived, (Arrived{{1, 1, 0}, two, two}));
  EXPECT_EQ(boundary(cells[1].end.first, 8, cells[1].end.second), 6u);
  EXPECT_EQ(cells[1].arrived, (Arrived{zero, two, two}));
  EXPECT_EQ(boundary(cells[2].end.first, 8, cells[2].end.second), 8u);
  EXPECT_EQ(cells[2].arrived, (Arrived{zero, nobody, two}));
}

/// Each position gets the block of the position behind it, and clears the other blocks.
const Algorithm neighbours = {
    .collective = Collective::Allgather,
    .name = "neighbours",
    .summary = "a test's",
    .symmetric = true,
    .build =
        [](GraphBuilder& g) {
          const Rank me = g.position();
          g.copy(g.output(me), g.input(me));
          g.send(g.output(me), me + 1);
          g.receive(g.output(me - 1), me - 1);
          for (Rank other = 1; other + 1 < g.size(); ++other) g.clear(g.output(me + other));
        },
};

TEST(Contributions, TellWhereEachBlockArrives) {
  const Graphs graphs = *graphs_of(neighbours, 3);
  const auto cells = contributions_of(graphs.all());
  ASSERT_EQ(cells.size(), 3u);
  const std::vector<bool> nobody = {0, 0, 0}, zero = {1, 0, 0}, one = {0, 1, 0}, two = {0, 0, 1};
  EXPECT_EQ(cells[0].arrived, (Arrived{zero, zero, nobody}));
  EXPECT_EQ(cells[1].arrived, (Arrived{nobody, one, one}));
  EXPECT_EQ(cells[2].arrived, (Arrived{two, nobody, two}));
}

/// Only position 0 does anything.
const Algorithm lonely = {
    .collective = Collective::Allgather,
    .name = "lonely",
    .summary = "a test's",
    .symmetric = false,
    .build =
        [](GraphBuilder& g) {
          if (g.position() == 0) g.copy(g.output(0), g.input(0));
        },
};

TEST(Contributions, KnowEveryBlock) {
  const Graphs graphs = *graphs_of(lonely, 3);
  const auto cells = contributions_of(graphs.all());
  ASSERT_EQ(cells.size(), 3u);
  const std::vector<bool> nobody = {0, 0, 0}, zero = {1, 0, 0};
  EXPECT_EQ(cells[0].arrived, (Arrived{zero, nobody, nobody}));
  EXPECT_EQ(cells[1].arrived, (Arrived{nobody, nobody, nobody}));
}

TEST(Contributions, OfAReductionAreThoseOfBothSides) {
  const Region in{Buffer::Input, false, 0, 1, 0, 1}, out{Buffer::Output, false, 0, 1, 0, 1},
      extra{Buffer{2}, true, 0, 1, 0, 1};
  const std::vector<Step> receives = {{.kind = StepKind::Copy, .to = out, .from = in},
                                      {.kind = StepKind::Receive, .peer = 1, .to = extra, .from = {}},
                                      {.kind = StepKind::Reduce, .to = out, .from = extra}};
  const std::vector<Step> sends = {{.kind = StepKind::Send, .peer = 1, .to = {}, .from = in}};
  std::vector<Graph> both;
  both.emplace_back(GraphShape{.size = 2}, false, receives, std::vector<Graph::Edge>{{0, 2}, {1, 2}},
                    GraphTables{.buffers = {{.role = Role::Input}, {.role = Role::Output}, {}}});
  both.emplace_back(GraphShape{.size = 2, .position = 1}, false, sends, std::vector<Graph::Edge>{});
  const auto cells = contributions_of(Graphs(std::move(both), 2).all());
  ASSERT_EQ(cells.size(), 1u);
  EXPECT_EQ(cells[0].arrived, (Arrived{{1, 1}, {0, 0}}));
}

TEST(Contributions, OfAReductionOnTheBoardAreThoseOfAllPositions) {
  const Algorithm on_board{.collective = Collective::Allreduce,
                           .name = "met",
                           .symmetric = true,
                           .on_board = true,
                           .build = [](GraphBuilder& g) { g.board_reduce(g.output(), g.input()); }};
  const Graphs graphs = *graphs_of(on_board, 3);
  const auto cells = contributions_of(graphs.all());
  ASSERT_EQ(cells.size(), 1u);
  const std::vector<bool> everybody = {1, 1, 1};
  EXPECT_EQ(cells[0].arrived, (Arrived{everybody, everybody, everybody}));
  EXPECT_EQ(runtime::rounds_of(graphs.distinct()), 1);
}

TEST(Graphs, OfAProgramThatReducesOnTheBoardNeedAnAlgorithmThatSaysSo) {
  const Algorithm silent{
      .collective = Collective::Allreduce, .name = "silent", .symmetric = true, .build = [](GraphBuilder& g) {
        g.board_reduce(g.output(), g.input());
      }};
  EXPECT_EQ(graphs_of(silent, 3).status().message(),
            "position 0: board_reduce() is called by a program whose algorithm is not on_board");
}

/// A program that asks for hosts, although it may not.
const Algorithm curious = {
    .collective = Collective::Allreduce,
    .name = "curious",
    .summary = "a test's",
    .symmetric = false,
    .build = [](GraphBuilder& g) { g.copy(g.output(), g.hosts().count() > 0 ? g.input() : g.output()); },
};

TEST(Graphs, OfAProgramThatAsksForWhatCannotBeHadAreAnErrorAndCostNothing) {
  const Status status = graphs_of(curious, 3).status();
  EXPECT_EQ(status.code(), Code::InvalidArgument);
  EXPECT_EQ(status.message(), "position 0: hosts() is called by a program whose algorithm is not by_hosts");
  runtime::CostCache costs;
  const runtime::PartCost& cost = costs.get(curious, {.size = 3}).of(2, 100);
  EXPECT_EQ(cost.rounds, 0);
  EXPECT_EQ(cost.sent.bytes_of(Dtype::F64) + cost.received.bytes_of(Dtype::F64) + cost.reduced + cost.lacking, 0u);
}

}  // namespace
}  // namespace lacuna
