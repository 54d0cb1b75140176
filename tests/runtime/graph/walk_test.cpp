#include "runtime/graph/walk.hpp"

#include <gtest/gtest.h>

#include <tuple>

#include "algorithms/registry/registry.hpp"
#include "runtime/graph/graph_cost.hpp"
#include "runtime/graph/graphs.hpp"

namespace lacuna {
namespace {

constexpr Region all{Buffer::Output, false, 0, 1, 0, 1};

/// `to` and `from` say how many positions after the own one the peer is.
Step send(Rank to, std::uint32_t index = 0) {
  return {.kind = StepKind::Send, .peer = to, .index = index, .to = {}, .from = all};
}
Step receive(Rank from, std::uint32_t index = 0) {
  return {.kind = StepKind::Receive, .peer = from, .index = index, .to = all, .from = {}};
}
Step copy() { return {.to = all, .from = all}; }

Step meet() { return {.kind = StepKind::BoardReduce, .to = all, .from = all}; }

struct Program {
  std::vector<Step> steps;
  std::vector<Graph::Edge> edges = {};
};

/// The graphs of the programs at positions 0, 1 ...
Graphs written(const std::vector<Program>& programs) {
  std::vector<Graph> graphs;
  const auto size = static_cast<Rank>(programs.size());
  for (Rank position = 0; position < size; ++position) {
    const Program& program = programs[static_cast<std::size_t>(position)];
    graphs.emplace_back(GraphShape{.size = size, .position = position}, false, program.steps, program.edges);
  }
  return Graphs(std::move(graphs), size);
}

using Place = std::pair<Rank, StepId>;
Place place_of(const Walk::Stop& stop) { return {stop.position, stop.id}; }

std::vector<Place> order_of(const Walk& walk) {
  std::vector<Place> order;
  for (const Walk::Stop& stop : walk.order()) order.push_back(place_of(stop));
  return order;
}

using Named = std::tuple<Rank, Rank, std::uint32_t, std::optional<StepId>, std::optional<StepId>>;
std::vector<Named> messages_of(const Walk& walk) {
  std::vector<Named> messages;
  for (const auto& [sender, receiver, index, sends, receives] : walk.messages()) {
    messages.emplace_back(sender, receiver, index, sends, receives);
  }
  return messages;
}

TEST(Walk, LetsStepsThatMeetHappenTogetherOnceAllCan) {
  const Graphs graphs = written({{{send(1), meet()}, {{0, 1}}},  //
                                 {{meet(), receive(1), copy()}, {{1, 0}, {0, 2}}}});
  const Walk walk(graphs.all());
  EXPECT_EQ(order_of(walk), (std::vector<Place>{{0, 0}, {1, 1}, {0, 1}, {1, 0}, {1, 2}}));
  EXPECT_FALSE(walk.stuck());
  EXPECT_EQ(runtime::rounds_of(graphs.all()), 2);
}

TEST(Walk, IsStuckAtAStepThatDoesNotMeetAllOthers) {
  const Graphs graphs = written({{{meet(), copy()}, {{0, 1}}}, {{copy()}}});
  const Walk walk(graphs.all());
  EXPECT_EQ(order_of(walk), (std::vector<Place>{{1, 0}}));
  ASSERT_TRUE(walk.stuck());
  EXPECT_EQ(place_of(*walk.stuck()), (Place{0, 0}));
}

TEST(Walk, MatchesEachSendWithItsReceive) {
  const Graphs graphs = written({{{send(1, 1), send(1, 0), receive(2)}},  //
                                 {{receive(2, 0), receive(2, 1)}},
                                 {{copy(), send(1)}}});
  EXPECT_EQ(messages_of(Walk(graphs.all())), (std::vector<Named>{{0, 1, 0, 1, 0}, {0, 1, 1, 0, 1}, {2, 0, 0, 1, 2}}));
}

TEST(Walk, OfASymmetricGraphMatchesWhatPositionZeroSends) {
  const std::vector<Step> steps = {send(3), receive(1), send(1), receive(3)};
  std::vector<Graph> one;
  one.emplace_back(GraphShape{.size = 4}, true, steps, std::vector<Graph::Edge>{{1, 2}});
  const Graphs graphs(std::move(one), 4);
  ASSERT_EQ(graphs.distinct().size(), 1u);
  const Walk walk(graphs.distinct());
  EXPECT_EQ(messages_of(walk), (std::vector<Named>{{0, 1, 0, 2, 3}, {0, 3, 0, 0, 1}}));
  EXPECT_EQ(order_of(walk), (std::vector<Place>{{0, 0}, {0, 1}, {0, 2}, {0, 3}}));
  EXPECT_EQ(messages_of(Walk(graphs.all())).size(), 8u);
}

/// By position and then by step: the step's place in the order.
std::vector<std::vector<std::size_t>> ranking(const Walk& walk, const Graphs& graphs) {
  std::vector<std::vector<std::size_t>> at;
  for (Rank position = 0; position < graphs.size(); ++position) at.emplace_back(graphs.at(position).steps().size(), 0);
  for (std::size_t i = 0; i < walk.order().size(); ++i) {
    const Walk::Stop& stop = walk.order()[i];
    at[static_cast<std::size_t>(stop.position)][stop.id] = i + 1;
  }
  return at;
}

void expect_order(const Graphs& graphs) {
  const Walk walk(graphs.all());
  EXPECT_FALSE(walk.stuck());
  ASSERT_EQ(walk.order().size(), walk.steps());
  const auto at = ranking(walk, graphs);
  for (std::size_t me = 0; me < at.size(); ++me) {
    const Graph& graph = graphs.at(static_cast<Rank>(me));
    for (StepId id = 0; id < graph.steps().size(); ++id) {
      ASSERT_GT(at[me][id], 0u) << "position " << me << " step " << id << " has no place";
      for (StepId next : graph.successors(id)) EXPECT_LT(at[me][id], at[me][next]);
      const Step& step = graph.steps()[id];
      if (!step.sends()) continue;
      const auto peer = static_cast<Rank>((me + static_cast<std::size_t>(step.peer)) % at.size());
      const auto receives = graphs.at(peer).receiver((graphs.size() - step.peer) % graphs.size(), step.index);
      EXPECT_EQ(at[me][id] + 1, at[static_cast<std::size_t>(peer)][*receives]);
    }
  }
}

TEST(Walk, PutsEachStepBehindThoseThatItWaitsForAndEachReceiveRightBehindItsSend) {
  for (const Algorithm* algorithm : all_algorithms()) {
    for (Rank size = 1; size <= 9; ++size) {
      SCOPED_TRACE(::testing::Message() << algorithm->name << " P=" << size);
      expect_order(*graphs_of(*algorithm, size, {.structure = {.in_place = true}}));
    }
  }
}

TEST(Walk, SaysWhichMessageHasNoReceiveOrNoSend) {
  const Graphs graphs = written({{{copy(), send(1), copy()}, {{1, 2}}}, {{receive(1, 4), copy(), copy()}, {{0, 1}}}});
  const Walk walk(graphs.all());
  EXPECT_EQ(messages_of(walk), (std::vector<Named>{{0, 1, 0, 1, std::nullopt}, {0, 1, 4, std::nullopt, 0}}));
  EXPECT_EQ(order_of(walk), (std::vector<Place>{{0, 0}, {1, 2}})) << "but what does not wait for them";
  ASSERT_TRUE(walk.stuck());
  EXPECT_EQ(place_of(*walk.stuck()), Place(0, 1));
}

TEST(Walk, SaysWhichStepNamesAMessageThatIsNamedAlready) {
  const Graphs graphs = written({{{send(1), send(1)}}, {{receive(1)}}});
  const Walk sends(graphs.all());
  ASSERT_TRUE(sends.twice());
  EXPECT_EQ(place_of(*sends.twice()), Place(0, 1));
  EXPECT_EQ(order_of(sends), (std::vector<Place>{{0, 0}, {1, 0}}));
  const Graphs others = written({{{receive(1)}}, {{copy(), send(1)}}, {{}}, {{receive(2, 1), receive(2, 1)}}});
  const Walk receives(others.all());
  ASSERT_TRUE(receives.twice());
  EXPECT_EQ(place_of(*receives.twice()), Place(3, 1));
  EXPECT_FALSE(Walk(written({{{send(1)}}, {{receive(1)}}}).all()).twice());
}

TEST(Walk, EndsWhereEdgesFormACycle) {
  const Graphs graphs = written({{{copy(), copy(), copy(), copy()}, {{1, 2}, {2, 1}, {2, 3}}}});
  const Walk walk(graphs.all());
  EXPECT_EQ(order_of(walk), (std::vector<Place>{{0, 0}}));
  ASSERT_TRUE(walk.stuck());
  EXPECT_EQ(place_of(*walk.stuck()), Place(0, 1));
}

TEST(Walk, EndsWhereReceivesWaitForEachOther) {
  const Program after_you{{receive(1), send(1)}, {{0, 1}}};
  const Graphs graphs = written({after_you, after_you});
  const Walk walk(graphs.all());
  EXPECT_TRUE(walk.order().empty());
  ASSERT_TRUE(walk.stuck());
  EXPECT_EQ(place_of(*walk.stuck()), Place(0, 0));
}

TEST(Walk, EndsWhereReceivesStartAfterSendsThatWaitForThem) {
  const Program at_once{{send(1), receive(1)}}, in_turn{{send(1), receive(1)}, {{0, 1}}};
  const Graphs graphs = written({at_once, in_turn}), stuck = written({in_turn, in_turn});
  EXPECT_EQ(order_of(Walk(graphs.all())), (std::vector<Place>{{1, 0}, {0, 1}, {0, 0}, {1, 1}}));
  const Walk walk(stuck.all());
  EXPECT_TRUE(walk.order().empty());
  ASSERT_TRUE(walk.stuck());
  EXPECT_EQ(place_of(*walk.stuck()), Place(0, 0));
}

TEST(Walk, CarriesTheLongestChainOfMessagesAlong) {
  // Position 0 sends to 1, which sends on to 2. What 2 sends to 0 waits for nothing.
  const Graphs chain = written({{{send(1), receive(2)}},  //
                                {{receive(2), copy(), send(1)}, {{0, 1}, {1, 2}}},
                                {{receive(2), send(1)}}});
  EXPECT_EQ(runtime::rounds_of(chain.all()), 2);
  // Position 2 takes a message that came long ago, and answers.
  const Graphs late = written({{{send(1), send(2), receive(2)}},
                               {{receive(2), send(1)}, {{0, 1}}},
                               {{receive(2), receive(1), send(1)}, {{0, 1}, {1, 2}}}});
  EXPECT_EQ(runtime::rounds_of(late.all()), 3);
  EXPECT_EQ(runtime::rounds_of(written({{{copy()}}}).all()), 0);
}

TEST(Walk, CountsAsManyRoundsInASymmetricGraphAsInThoseOfAllPositions) {
  for (const Algorithm* algorithm : all_algorithms()) {
    for (Rank size = 1; size <= 9; ++size) {
      const Graphs graphs = *graphs_of(*algorithm, size);
      EXPECT_EQ(graphs.distinct().size(), algorithm->symmetric ? 1u : static_cast<std::size_t>(size));
      EXPECT_EQ(runtime::rounds_of(graphs.distinct()), runtime::rounds_of(graphs.all()))
          << algorithm->name << " P=" << size;
    }
  }
}

}  // namespace
}  // namespace lacuna
