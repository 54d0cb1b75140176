#include "runtime/graph/builder.hpp"

#include <gtest/gtest.h>

#include <set>

#include "algorithms/phases/left_out.hpp"
#include "algorithms/registry/registry.hpp"

namespace lacuna {
namespace {

using Edges = std::set<Graph::Edge>;

GraphBuilder builder(Rank size = 4, bool in_place = false, Collective collective = Collective::Allreduce) {
  return GraphBuilder({.collective = collective, .size = size, .position = 0, .structure = {.in_place = in_place}},
                      false);
}

Edges edges_of(const Graph& graph) {
  Edges edges;
  for (StepId step = 0; step < graph.steps().size(); ++step) {
    for (StepId next : graph.successors(step)) edges.emplace(step, next);
  }
  return edges;
}

Edges edges_of(GraphBuilder&& g) { return edges_of(std::move(g).build()); }

TEST(Builder, AReadFollowsTheWriteOfItsBytes) {
  GraphBuilder g = builder();
  g.receive(g.output(1), 1);
  g.send(g.output(1), 2);
  EXPECT_EQ(edges_of(std::move(g)), (Edges{{0, 1}}));
}

TEST(Builder, AWriteFollowsTheReadsOfItsBytes) {
  GraphBuilder g = builder();
  g.send(g.output(1), 2);
  g.send(g.output(1), 3);
  g.receive(g.output(1), 1);
  EXPECT_EQ(edges_of(std::move(g)), (Edges{{0, 2}, {1, 2}}));
}

TEST(Builder, AWriteFollowsTheWriteOfItsBytes) {
  GraphBuilder g = builder();
  g.receive(g.output(1), 1);
  g.receive(g.output(1), 2);
  EXPECT_EQ(edges_of(std::move(g)), (Edges{{0, 1}}));
}

TEST(Builder, ReadsOfTheSameBytesHaveNoOrder) {
  GraphBuilder g = builder();
  g.send(g.input(1), 1);
  g.send(g.input(1), 2);
  EXPECT_EQ(edges_of(std::move(g)), Edges{});
}

TEST(Builder, DisjointPiecesAndBuffersHaveNoOrder) {
  GraphBuilder g = builder();
  g.receive(g.output(1), 1);
  g.receive(g.output(2), 1);
  g.send(g.input(1), 2);
  g.receive(g.scratch(0, g.output(1)), 3);
  g.receive(g.scratch(1, g.output(1)), 3);
  EXPECT_EQ(edges_of(std::move(g)), Edges{});
}

TEST(Builder, PiecesOverlapTheWholeAndCutsByTheirFractions) {
  GraphBuilder g = builder();
  g.receive({.buffer = Buffer::Output, .of = 2, .begin = 0, .end = 1}, 1);  // the first half
  g.receive(g.output(1), 1);                                                // the second quarter
  g.receive(g.output(2), 1);                                                // the third quarter
  g.send(g.output(), 2);
  EXPECT_EQ(edges_of(std::move(g)), (Edges{{0, 1}, {1, 3}, {2, 3}}));
}

TEST(Builder, AScratchBlockOverlapsItselfWhateverPlaceItStandsFor) {
  GraphBuilder g = builder();
  g.receive(g.scratch(0, g.output(1)), 1);
  g.receive(g.scratch(0, g.output(2)), 1);
  EXPECT_EQ(edges_of(std::move(g)), (Edges{{0, 1}}));
}

TEST(Builder, AScratchBlockIsAsLongAsTheLongestRangeThatItStandsFor) {
  GraphBuilder g = builder();
  g.receive(g.scratch(5, g.output(1)), 1);
  g.receive(g.scratch(7, g.output(1)), 1);
  g.receive(g.scratch(5, g.output(1, 3, 3)), 2);
  g.receive(g.scratch(5, g.output(0, 1, 2)), 3);
  const Graph graph = std::move(g).build();
  const auto& buffers = graph.tables().buffers;
  ASSERT_EQ(buffers.size(), 4u) << "the caller's two, and a block for each slot";
  EXPECT_EQ(buffers[2].longest * 3, buffers[2].pieces * 2) << "two thirds";
  EXPECT_EQ(buffers[3].longest * 4, buffers[3].pieces) << "a quarter";
}

TEST(Builder, EdgesThatOthersImplyAreLeftOut) {
  GraphBuilder g = builder();
  g.receive(g.output(), 1);
  g.receive_reduce(g.output(), g.output(), 2, Brings::Term);
  g.send(g.output(), 3);
  g.receive(g.output(), 3);
  EXPECT_EQ(edges_of(std::move(g)), (Edges{{0, 1}, {1, 2}, {2, 3}}));
}

TEST(Builder, InPlaceTheInputIsTheOutput) {
  GraphBuilder g = builder(4, true);
  g.send(g.input(2), 1);
  g.receive(g.output(2), 1);
  EXPECT_EQ(edges_of(std::move(g)), (Edges{{0, 1}}));
  GraphBuilder apart = builder(4, false);
  apart.send(apart.input(2), 1);
  apart.receive(apart.output(2), 1);
  EXPECT_EQ(edges_of(std::move(apart)), Edges{});
}

TEST(Builder, InPlaceReduceScatterNeverTouchesTheOutputBuffer) {
  GraphBuilder g = builder(4, true, Collective::ReduceScatter);
  EXPECT_EQ(g.output(0).buffer, Buffer::Input);
  EXPECT_EQ(g.input(3).buffer, Buffer::Input);
}

TEST(Builder, AfterAddsAnOrderOnce) {
  GraphBuilder g = builder();
  const StepId first = g.receive(GraphBuilder::signal(), 1);
  const StepId second = g.send(GraphBuilder::signal(), 2);
  g.after(second, first);
  g.after(second, first);
  EXPECT_EQ(edges_of(std::move(g)), (Edges{{0, 1}}));
}

TEST(Builder, MessagesAreCountedByPairAndDirection) {
  GraphBuilder g = builder();
  g.send(g.input(), 1);
  g.receive(g.output(), 1);
  g.send(g.input(), 2);
  g.send(g.input(), 1);
  g.receive_reduce(g.output(), g.input(), 1, Brings::Term);
  const Graph graph = std::move(g).build();
  std::vector<std::uint32_t> indices;
  for (const Step& step : graph.steps()) indices.push_back(step.index);
  EXPECT_EQ(indices, (std::vector<std::uint32_t>{0, 0, 0, 1, 1}));
}

TEST(Builder, PeersAndPiecesWrapAround) {
  GraphBuilder g({.size = 4, .position = 3}, false);
  EXPECT_EQ(g.output(5), g.output(1));
  EXPECT_EQ(g.output(-1), g.output(3));
  g.send(g.output(4), 4);
  g.receive(g.output(-5), -2);
  const Graph graph = std::move(g).build();
  EXPECT_EQ(graph.steps()[0].peer, 1);
  EXPECT_EQ(graph.steps()[0].from.begin, 0u);
  EXPECT_EQ(graph.steps()[1].peer, 3);
  EXPECT_EQ(graph.steps()[1].to.begin, 3u);
}

TEST(Builder, FinishMarksTheLastStepThatWroteTheRegion) {
  GraphBuilder g = builder();
  g.receive_reduce(g.output(1), g.input(1), 1, Brings::Term);
  g.receive_reduce(g.output(1), g.output(1), 2, Brings::Term);
  g.receive_reduce(g.output(2), g.input(2), 2, Brings::Sum);
  g.finish(g.output(1));
  g.finish(g.output(2), 2);
  const Graph graph = std::move(g).build();
  EXPECT_EQ(graph.steps()[0].contributors, 0);
  EXPECT_EQ(graph.steps()[1].contributors, graph.shape().size);
  EXPECT_EQ(graph.steps()[2].contributors, 2);
}

/// Takes an algorithm that says it is symmetric. Builds it once for position 0, and once for the position itself.
void expect_same_at(Rank position, const Algorithm& algorithm, GraphShape shape) {
  GraphBuilder once(shape, true);
  algorithm.build(once);
  const Graph symmetric = std::move(once).build();
  shape.position = position;
  GraphBuilder own(shape, false);
  algorithm.build(own);
  const Graph fixed = std::move(own).build();
  ASSERT_EQ(symmetric.steps().size(), fixed.steps().size()) << algorithm.name;
  for (StepId id = 0; id < fixed.steps().size(); ++id) {
    const Step &a = symmetric.steps()[id], &b = fixed.steps()[id];
    EXPECT_EQ(placed(symmetric, a.to, position), b.to) << algorithm.name << " step " << id;
    EXPECT_EQ(placed(symmetric, a.from, position), b.from) << algorithm.name << " step " << id;
    EXPECT_TRUE(a.kind == b.kind && a.peer == b.peer && a.index == b.index && a.contributors == b.contributors);
  }
  EXPECT_EQ(edges_of(symmetric), edges_of(fixed)) << algorithm.name;
}

TEST(Builder, SymmetricAlgorithmsMentionTheirPositionOnlyInSums) {
  for (const Algorithm* algorithm : all_algorithms()) {
    if (!algorithm->symmetric) continue;
    for (Rank size = 1; size <= 9; ++size) {
      for (Rank position = 0; position < size; ++position) {
        for (bool in_place : {false, true}) {
          GraphShape shape{.collective = algorithm->collective, .size = size, .structure = {.in_place = in_place}};
          for (int rounds = 0; rounds < size; ++rounds) {
            shape.structure.parameters = LeftOut{.rounds = rounds};
            expect_same_at(position, *algorithm, shape);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace lacuna
