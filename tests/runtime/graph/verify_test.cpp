#include "runtime/graph/verify.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "algorithms/phases/feedback.hpp"
#include "algorithms/phases/left_out.hpp"
#include "algorithms/registry/registry.hpp"
#include "algorithms/registry/verified_graphs.hpp"
#include "algorithms/skip/skipping.hpp"
#include "runtime/graph/graphs.hpp"
#include "tests/support/collective_case.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/skip_call.hpp"

namespace lacuna {
namespace {

/// The graphs of all positions. A symmetric graph is built for each position too.
class Positions {
 public:
  Positions(const Algorithm& algorithm, Rank size, const std::function<bool(Rank)>& in_place, int skip = 0) {
    for (Rank position = 0; position < size; ++position) {
      GraphBuilder builder({.collective = algorithm.collective,
                            .size = size,
                            .position = position,
                            .structure = {.in_place = in_place(position), .parameters = LeftOut{.rounds = skip}},
                            .hosts = algorithm.by_hosts ? Hosts(size) : Hosts()},
                           algorithm.symmetric);
      algorithm.build(builder);
      graphs_.push_back(std::make_unique<Graph>(std::move(builder).build()));
    }
  }

  const Graph& at(Rank position) const { return *graphs_[static_cast<std::size_t>(position)]; }

  using Steps = std::vector<Step>;
  using Edges = std::vector<Graph::Edge>;
  /// Replaces the graph of one position by a changed graph.
  void change(Rank position, const std::function<void(Steps&, Edges&)>& change) {
    auto& graph = graphs_[static_cast<std::size_t>(position)];
    Steps steps(graph->steps().begin(), graph->steps().end());
    Edges edges;
    for (StepId step = 0; step < steps.size(); ++step) {
      for (StepId next : graph->successors(step)) edges.emplace_back(step, next);
    }
    change(steps, edges);
    GraphShape shape = graph->shape();
    shape.position = position;
    graph = std::make_unique<Graph>(shape, graph->symmetric(), std::move(steps), edges, graph->tables());
  }

  Status verify() const {
    std::vector<const Graph*> all;
    for (const auto& graph : graphs_) all.push_back(graph.get());
    return lacuna::verify(all);
  }

 private:
  std::vector<std::unique_ptr<Graph>> graphs_;
};

const Algorithm& named(Collective collective, const char* name) {
  for (const Algorithm* algorithm : all_algorithms()) {
    if (algorithm->collective == collective && algorithm->name == name) return *algorithm;
  }
  throw std::invalid_argument(name);
}

bool nowhere(Rank) { return false; }
bool everywhere(Rank) { return true; }
bool on_odd_positions(Rank position) { return position % 2 == 1; }

int most_skipped(const Algorithm& algorithm, const Hosts& hosts) {
  return skipping_of(algorithm) ? skipping_of(algorithm)->most(hosts) : 0;
}

TEST(Verify, AcceptsEveryAlgorithmInPlaceOrNotWithEveryNumberOfSkippedSteps) {
  for (const Algorithm* algorithm : all_algorithms()) {
    for (Rank size = 1; size <= 16; ++size) {
      for (int skip = 0; skip <= most_skipped(*algorithm, size); ++skip) {
        for (const auto& in_place : {nowhere, everywhere, on_odd_positions}) {
          const Status status = Positions(*algorithm, size, in_place, skip).verify();
          ASSERT_TRUE(status) << algorithm->name << " P=" << size << " skip " << skip << ": " << status.to_string();
        }
      }
    }
  }
}

TEST(Verify, AcceptsWhatSkippingKeepsAndClears) {
  for (const Algorithm* algorithm : all_algorithms()) {
    if (!skipping_of(*algorithm)) continue;
    for (Rank size : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16}) {
      std::vector<Hosts> all = {size};
      for (const std::vector<Rank>& layout : test::host_layouts(size)) all.emplace_back(layout);
      for (const Hosts& hosts : all) {
        for (int steps = 0; steps <= skipping_of(*algorithm)->most(hosts); ++steps) {
          for (int options = 0; options < 8; ++options) {
            GraphShape shape;
            shape.structure.in_place = (options & 1) != 0;
            const bool feeds_back = (options & 4) != 0 && algorithm->collective != Collective::Allgather;
            if (feeds_back) shape.structure.frame = &feedback_frame;
            shape.structure.parameters = LeftOut{.rounds = steps,
                                                 .gather_rounds = algorithm->name == "ring" ? steps / 2 : 0,
                                                 .keep = (options & 2) != 0};
            const auto graphs = graphs_of(*algorithm, hosts, shape);
            ASSERT_TRUE(graphs) << algorithm->name << " P=" << size << " of " << hosts.count() << " skip " << steps
                                << ": " << graphs.status().message();
            const Status status = verify(graphs->all());
            ASSERT_TRUE(status) << algorithm->name << " P=" << size << " skip " << steps << " options " << options
                                << ": " << status.to_string();
          }
        }
        if (!algorithm->by_hosts) break;
      }
    }
  }
}

TEST(Verify, AcceptsEveryAlgorithmOnManyRanks) {
  for (const Algorithm* algorithm : all_algorithms()) {
    for (Rank size : {31, 64}) {
      const Status status = Positions(*algorithm, size, everywhere).verify();
      EXPECT_TRUE(status) << algorithm->name << " P=" << size << ": " << status.to_string();
    }
  }
}

TEST(Verify, AcceptsEveryAlgorithmThatAsksForHostsOnManyLayouts) {
  for (const Algorithm* algorithm : all_algorithms()) {
    if (!algorithm->by_hosts) continue;
    for (Rank size : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 31, 64}) {
      for (const std::vector<Rank>& layout : test::host_layouts(size)) {
        const Status status = check_graphs(*algorithm, Hosts(layout));
        EXPECT_TRUE(status) << status.to_string();
      }
    }
  }
}

void expect_rejected(const Positions& plan, std::initializer_list<const char*> says) {
  const Status status = plan.verify();
  ASSERT_EQ(status.code(), Code::InvalidArgument) << "a fault went unnoticed";
  for (const char* part : says) {
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message() << "\nlacks: " << part;
  }
}

Positions ring(Rank size = 3, bool in_place = false) {
  return Positions(named(Collective::Allreduce, "ring"), size, in_place ? everywhere : nowhere);
}

TEST(Verify, RejectsAMissingReceive) {
  Positions plan = ring();
  plan.change(1, [](auto& steps, auto& edges) {
    ASSERT_EQ(steps.back().kind, StepKind::Receive);
    steps.pop_back();
    std::erase_if(edges, [&](const auto& edge) { return edge.second == steps.size(); });
  });
  expect_rejected(plan, {"position 0 step", "send 3 to position 1 meets no receive"});
}

TEST(Verify, RejectsABlockOfAnAlltoallThatIsMeantForAnother) {
  const auto turned = [](Region region) {
    region.begin = (region.begin + 1) % region.of;
    region.end = region.begin + 1;
    return region;
  };
  for (const StepKind kind : {StepKind::Send, StepKind::Receive}) {
    Positions plan(named(Collective::Alltoall, "pairwise"), 4, nowhere);
    plan.change(1, [&](auto& steps, auto&) {
      const auto step = std::find_if(steps.begin(), steps.end(), [&](const Step& one) { return one.kind == kind; });
      (kind == StepKind::Send ? step->from : step->to) = turned(kind == StepKind::Send ? step->from : step->to);
    });
    expect_rejected(plan, {"message 0 from position", "sends [", "receives ["});
  }
}

TEST(Verify, RejectsAReceiveThatNobodySendsTo) {
  Positions plan = ring();
  plan.change(2, [](auto& steps, auto&) {
    Step extra = steps.back();
    ++extra.index;
    extra.to = {.buffer = Buffer{2}, .at_start = true, .of = 3, .begin = 0, .end = 1};
    steps.push_back(extra);
  });
  expect_rejected(plan, {"position 2 step 8", "receive 4 from position 1 meets no send"});
}

TEST(Verify, RejectsASumThatIsReducedAsATermAndATermThatIsReducedAsASum) {
  for (const auto& [index, wrong] : {std::pair(0u, "it brings a term, and is reduced as a sum"),
                                     std::pair(1u, "it brings a sum, and is reduced as a term")}) {
    Positions plan = ring();
    plan.change(1, [&](auto& steps, auto&) {
      const auto step = std::ranges::find_if(
          steps, [&](const Step& one) { return one.kind == StepKind::ReceiveReduce && one.index == index; });
      step->brings_term = !step->brings_term;
    });
    expect_rejected(plan, {"message", wrong});
  }
}

TEST(Verify, RejectsAMessageOfDifferentIntervals) {
  Positions plan = ring();
  plan.change(1, [](auto& steps, auto&) {
    Region& to = steps[1].to;
    ASSERT_EQ(steps[1].kind, StepKind::ReceiveReduce);
    to.begin = (to.begin + 1) % 3;
    to.end = to.begin + 1;
  });
  expect_rejected(plan,
                  {"message 0 from position 0 step 0 to position 1 step 1", "sends [2, 3) of 3, receives [0, 1)"});
}

TEST(Verify, RejectsAMessageThatIsNamedTwice) {
  Positions plan = ring();
  plan.change(1, [](auto& steps, auto&) { steps[2].index = 0; });
  expect_rejected(plan, {"position 1 step 2", "message 0 with position 2 is named twice"});
}

TEST(Verify, RejectsTwoWritesWithoutOrder) {
  Positions plan = ring();
  plan.change(0, [](auto& steps, auto&) {
    const Region block = GraphBuilder::all_of(Buffer{2}), input = GraphBuilder::all_of(Buffer::Input);
    const Step copy{.kind = StepKind::Copy, .to = block, .from = input};
    steps.push_back(copy);
    steps.push_back(copy);
  });
  expect_rejected(plan, {"position 0 steps 8 and 9", "touch the same bytes and are not ordered"});
}

TEST(Verify, RejectsARewriteOfBytesUnderASend) {
  Positions plan = ring(3, true);
  plan.change(2, [](auto& steps, auto& edges) {
    const auto rewrites = std::find_if(edges.begin(), edges.end(), [&](const auto& edge) {
      const Step &before = steps[edge.first], &after = steps[edge.second];
      return before.sends() && after.writes() && overlap(before.from, after.to);
    });
    ASSERT_NE(rewrites, edges.end());
    edges.erase(rewrites);
  });
  expect_rejected(plan, {"position 2 steps", "bytes under a send would be rewritten"});
}

TEST(Verify, RejectsEdgesThatFormACycle) {
  Positions plan = ring();
  plan.change(1, [](auto&, auto& edges) {
    const auto forward = edges.front();
    edges.emplace_back(forward.second, forward.first);
  });
  expect_rejected(plan, {"position", "step", "a cycle"});
}

/// Each rank sends what it then overwrites with the sum of both. So its receive can't start before its send has ended.
const Algorithm naive_exchange = {
    .collective = Collective::Allreduce,
    .name = "naive_exchange",
    .summary = "ends only if sends do not wait for their receives",
    .symmetric = false,
    .build =
        [](GraphBuilder& g) {
          g.send(g.output(), 1 - g.position());
          g.receive_reduce(g.output(), g.output(), 1 - g.position(), Brings::Term);
        },
};

TEST(Verify, RejectsACycleThatOnlySynchronousSendsShow) {
  expect_rejected(Positions(naive_exchange, 2, everywhere), {"position 0 step 0 can never end", "a cycle"});
}

/// Each rank sends only after it has received.
const Algorithm after_you = {
    .collective = Collective::Allreduce,
    .name = "after_you",
    .summary = "never begins",
    .symmetric = false,
    .build =
        [](GraphBuilder& g) {
          const StepId received = g.receive(g.output(), 1 - g.position());
          g.after(g.send(g.input(), 1 - g.position()), received);
        },
};

TEST(Verify, RejectsACycleOfReceivesThatWaitForSends) {
  expect_rejected(Positions(after_you, 2, nowhere), {"position 0 step 0 can never end", "a cycle"});
}

/// Runs the naive exchange on two ranks. Returns whether it has ended.
bool naive_exchange_ends(std::size_t eager_bytes) {
  test::RanksOptions options{.network = {}, .executor = test::quick_executor()};
  options.executor.eager_bytes = eager_bytes;
  test::Ranks ranks(2, options);
  std::vector<std::vector<float>> data = {{1, 2}, {3, 4}};
  std::vector<runtime::Run*> runs;
  for (Rank rank = 0; rank < 2; ++rank) {
    float* buffer = data[static_cast<std::size_t>(rank)].data();
    Call call;
    call.collective = Collective::Allreduce;
    call.input = call.output = buffer;
    call.count = 2;
    runs.push_back(*ranks.communicator(rank).post(call, naive_exchange));
  }
  if (!ranks.sweep_until([&] { return runs[0]->finished && runs[1]->finished; })) return false;
  for (const auto& sum : data) EXPECT_EQ(sum, (std::vector<float>{4, 6}));
  return true;
}

TEST(Verify, WhatItRejectedAsACycleHangsUnderSynchronousSendsOnly) {
  EXPECT_TRUE(naive_exchange_ends(1 << 20));
  EXPECT_FALSE(naive_exchange_ends(0));
}

const Algorithm& board_allreduce() {
  return **select_algorithm({.collective = Collective::Allreduce, .options = {.algorithm = "board"}},
                            Hosts(3).with_board());
}

TEST(VerifyBoard, RefusesAPositionThatDoesNotMeetTheOthers) {
  Positions positions(board_allreduce(), 3, [](Rank) { return false; });
  EXPECT_TRUE(positions.verify());
  positions.change(1, [](auto& steps, auto&) { steps[0].kind = StepKind::Copy; });
  const Status status = positions.verify();
  EXPECT_NE(status.message().find("position 0 meets the others on the board, and position 1 does not"),
            std::string_view::npos)
      << status.message();
}

TEST(VerifyBoard, RefusesPositionsThatReduceDifferentElements) {
  Positions positions(board_allreduce(), 3, [](Rank) { return false; });
  positions.change(2, [](auto& steps, auto&) {
    for (Region* region : {&steps[0].to, &steps[0].from}) *region = {region->buffer, false, 0, 1, 0, 2};
  });
  const Status status = positions.verify();
  EXPECT_NE(status.message().find("positions 0 and 2 reduce different elements"), std::string_view::npos)
      << status.message();
}

TEST(VerifyBoard, BuilderRefusesASecondReductionOfAPart) {
  GraphBuilder builder({.collective = Collective::Allreduce, .size = 3}, true);
  builder.board_reduce(builder.output(), builder.input());
  builder.board_reduce(builder.output(), builder.output());
  EXPECT_NE(builder.status().message().find("twice"), std::string_view::npos) << builder.status().message();
}

}  // namespace
}  // namespace lacuna
