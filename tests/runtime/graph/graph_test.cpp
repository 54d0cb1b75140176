#include "runtime/graph/graph.hpp"

#include <gtest/gtest.h>

namespace lacuna {
namespace {

constexpr Region whole(Buffer buffer) { return {buffer, false, 0, 1, 0, 1}; }

Step receive(Rank peer, std::uint32_t index) {
  return {.kind = StepKind::Receive, .peer = peer, .index = index, .to = whole(Buffer::Output), .from = {}};
}

Step copy(Region to, Region from) { return {.kind = StepKind::Copy, .to = to, .from = from}; }

Graph diamond() {
  const Step step = copy(whole(Buffer::Output), whole(Buffer::Input));
  const std::vector<Graph::Edge> edges = {{1, 3}, {0, 1}, {0, 2}, {2, 3}};
  return Graph({}, false, {step, step, step, step}, edges);
}

TEST(Graph, SuccessorsAreThoseOfTheEdges) {
  const Graph graph = diamond();
  const auto of = [&](StepId step) {
    const auto ids = graph.successors(step);
    return std::vector<StepId>(ids.begin(), ids.end());
  };
  EXPECT_EQ(of(0), (std::vector<StepId>{1, 2}));
  EXPECT_EQ(of(1), std::vector<StepId>{3});
  EXPECT_EQ(of(2), std::vector<StepId>{3});
  EXPECT_TRUE(of(3).empty());
}

TEST(Graph, PredecessorCountsAndRootsFollowTheEdges) {
  const Graph graph = diamond();
  const auto counts = graph.predecessor_counts();
  EXPECT_EQ(std::vector<std::uint32_t>(counts.begin(), counts.end()), (std::vector<std::uint32_t>{0, 1, 1, 2}));
  ASSERT_EQ(graph.roots().size(), 1u);
  EXPECT_EQ(graph.roots()[0], 0u);
}

TEST(Graph, FindsTheReceiverOfAMessageByPeerAndIndex) {
  const Graph graph({.size = 4}, false, {receive(2, 1), receive(1, 0), receive(2, 0), receive(3, 0)}, {});
  EXPECT_EQ(graph.receiver(2, 0), 2u);
  EXPECT_EQ(graph.receiver(2, 1), 0u);
  EXPECT_EQ(graph.receiver(1, 0), 1u);
  EXPECT_EQ(graph.receiver(3, 0), 3u);
  EXPECT_FALSE(graph.receiver(2, 2));
  EXPECT_FALSE(graph.receiver(0, 0));
}

TEST(Graph, ASymmetricGraphsPiecesCountFromThePosition) {
  const Graph symmetric({.size = 4}, true, {}, {});
  const Graph fixed({.size = 4}, false, {}, {});
  const Region piece{Buffer::Output, false, 0, 4, 3, 4};
  EXPECT_EQ(placed(symmetric, piece, 2), (Region{Buffer::Output, false, 0, 4, 1, 2}));
  EXPECT_EQ(placed(fixed, piece, 2), piece);
  EXPECT_EQ(placed(symmetric, whole(Buffer::Input), 2), whole(Buffer::Input));
}

}  // namespace
}  // namespace lacuna
