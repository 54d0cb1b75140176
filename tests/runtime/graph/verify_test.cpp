#include "runtime/graph/verify.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "algorithms/registry.hpp"
#include "algorithms/registry/registered.hpp"
#include "algorithms/skip/skipping.hpp"
#include "runtime/graph/graphs.hpp"
#include "tests/support/collective_case.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/skip_call.hpp"
#include "tests/support/sparse_sum.hpp"

namespace lacuna {
namespace {

/// The graphs of all positions; those that are symmetric are built for each all the same.
class Positions {
 public:
  Positions(const Algorithm& algorithm, Rank size, const std::function<bool(Rank)>& in_place, int skip = 0) {
    for (Rank position = 0; position < size; ++position) {
      GraphBuilder builder({.collective = algorithm.collective,
                            .size = size,
                            .position = position,
                            .structure = {.in_place = in_place(position), .numbers = {skip}},
                            .hosts = algorithm.by_hosts ? Hosts(size) : Hosts()},
                           algorithm.symmetric);
      algorithm.build(builder);
      graphs_.push_back(std::make_unique<Graph>(std::move(builder).build()));
    }
  }

  const Graph& at(Rank position) const { return *graphs_[static_cast<std::size_t>(position)]; }

  using Steps = std::vector<Step>;
  using Edges = std::vector<Graph::Edge>;
  /// Replaces the graph of one position by a changed one.
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
            shape.structure.feedback = (options & 4) != 0 && algorithm->collective != Collective::Allgather;
            shape.structure.numbers = {steps, algorithm->name == "ring" ? steps / 2 : 0, (options & 2) != 0};
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

/// Each rank sends what it then overwrites with the sum of both: the receive cannot start before the send has ended.
const Algorithm naive_exchange = {
    .collective = Collective::Allreduce,
    .name = "naive_exchange",
    .summary = "ends only if sends do not wait for their receives",
    .symmetric = false,
    .build =
        [](GraphBuilder& g) {
          g.send(g.output(), 1 - g.position());
          g.receive_reduce(g.output(), g.output(), 1 - g.position());
        },
};

TEST(Verify, RejectsACycleThatOnlySynchronousSendsShow) {
  expect_rejected(Positions(naive_exchange, 2, everywhere), {"position 0 step 0 can never end", "a cycle"});
}

/// Each rank sends only when it has received.
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

/// Runs the naive exchange on two ranks: has it ended?
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

// Buffers, values and kernels: the graphs of sparse_sum with one thing changed in one of them.

/// Its messages carry their lengths; with `second`, the part that follows, whose lengths are agreed.
class Sparse {
 public:
  explicit Sparse(bool second = false, Rank size = 3) {
    for (Rank position = 0; position < size; ++position) {
      GraphBuilder builder({.size = size, .position = position, .structure = {.numbers = {second}}}, false);
      test::sparse_sum.build(builder);
      EXPECT_TRUE(builder.status()) << builder.status().to_string();
      graphs_.push_back(std::move(builder).build());
    }
  }
  using Edges = std::vector<Graph::Edge>;
  void change(std::size_t position, const std::function<void(std::vector<Step>&, Edges&, GraphTables&)>& change) {
    const Graph& graph = graphs_[position];
    std::vector<Step> steps(graph.steps().begin(), graph.steps().end());
    Edges edges;
    for (StepId step = 0; step < steps.size(); ++step) {
      for (StepId next : graph.successors(step)) edges.emplace_back(step, next);
    }
    GraphTables tables = graph.tables();
    change(steps, edges, tables);
    graphs_[position] = Graph(graph.shape(), false, std::move(steps), edges, std::move(tables));
  }
  Status verify() const {
    std::vector<const Graph*> all;
    for (const Graph& graph : graphs_) all.push_back(&graph);
    return lacuna::verify(all);
  }
  void expect_rejected(const char* says) const {
    const Status status = verify();
    EXPECT_EQ(status.code(), Code::InvalidArgument) << "a fault went unnoticed: " << says;
    EXPECT_NE(status.message().find(says), std::string::npos) << status.message() << "\nlacks: " << says;
  }

 private:
  std::vector<Graph> graphs_;
};

StepId first(const std::vector<Step>& steps, StepKind kind) {
  const auto found = std::find_if(steps.begin(), steps.end(), [&](const Step& step) { return step.kind == kind; });
  EXPECT_NE(found, steps.end());
  return static_cast<StepId>(found - steps.begin());
}

TEST(VerifyValues, AcceptsLengthsThatMessagesCarryAndThoseThatAreAgreed) {
  for (Rank size = 1; size <= 16; ++size) {
    for (bool second : {false, true}) {
      const Status status = Sparse(second, size).verify();
      EXPECT_TRUE(status) << size << " ranks: " << status.to_string();
    }
  }
}

TEST(VerifyValues, RejectsALengthThatTwoRanksDefineDifferently) {
  Sparse other_value(true);
  other_value.change(1, [](auto&, auto&, GraphTables& tables) { tables.values[0].name = 1; });
  other_value.expect_rejected("the two ranks define this length differently");
  Sparse other_kernel(true);
  other_kernel.change(1, [](auto&, auto&, GraphTables& tables) {
    static constexpr Kernel another = {"another", nullptr};
    tables.kernels[0].kernel = &another;
  });
  other_kernel.expect_rejected("the two ranks define this length differently");
}

TEST(VerifyValues, RejectsALengthThatOnlyOneEndTakesFromTheMessage) {
  Sparse deaf;
  deaf.change(1, [](auto& steps, auto&, auto&) { steps[first(steps, StepKind::Receive)].carries = false; });
  deaf.expect_rejected("the receiver does not take it from the message");
  Sparse mute;
  mute.change(1, [](auto& steps, auto&, auto&) { steps[first(steps, StepKind::Send)].carries = false; });
  mute.expect_rejected("a message that does not tell it");
}

TEST(VerifyValues, RejectsElementsOfDifferentTypes) {
  Sparse plan;
  plan.change(2, [](auto& steps, auto&, GraphTables& tables) {
    const Region to = steps[first(steps, StepKind::Receive)].to;
    tables.buffers[static_cast<std::size_t>(to.buffer)].element = Dtype::U8;
  });
  plan.expect_rejected("elements of different types");
}

TEST(VerifyValues, RejectsAValueThatIsReadBeforeItIsDefined) {
  Sparse plan(true);
  plan.change(0, [](auto& steps, auto& edges, auto&) {
    const StepId kernel = first(steps, StepKind::Kernel);
    std::erase_if(edges, [&](const auto& edge) { return edge.first == kernel; });
    edges.emplace_back(kernel, first(steps, StepKind::Reduce));  // which writes what the kernel reads
  });
  plan.expect_rejected("value 0 is read before it is defined");
}

TEST(VerifyValues, RejectsWhatHasLandedBeingReleasedTooEarly) {
  Sparse plan;
  plan.change(0, [](auto& steps, auto& edges, auto&) {
    const StepId release = first(steps, StepKind::Release);
    std::erase_if(edges, [&](const auto& edge) { return edge.second == release; });
    edges.emplace_back(first(steps, StepKind::Receive), release);  // but not behind the kernel that reads it
  });
  plan.expect_rejected("what has landed would be released too early");
}

TEST(VerifyValues, RejectsTwoKernelsThatWriteOneBufferInNoOrder) {
  Sparse plan;
  plan.change(0, [](auto& steps, auto&, auto&) { steps.push_back(steps[first(steps, StepKind::Kernel)]); });
  plan.expect_rejected("touch the same bytes and are not ordered");
}

TEST(VerifyValues, RejectsAPartThatRanksCouldLetFollowDifferently) {
  Sparse own;
  own.change(1, [](auto&, auto&, GraphTables& tables) { tables.decides = {Value{0}}; });
  own.expect_rejected("is not agreed: ranks could choose differently");
  Sparse other;
  other.change(1, [](auto&, auto&, GraphTables& tables) { tables.decides.clear(); });
  other.expect_rejected("positions 0 and 1 choose the part that follows from different values");
}

TEST(VerifyValues, RejectsACopyToWhatIsShorterOrOfOtherElements) {
  Sparse longer(true), other(true);
  longer.change(0, [](auto& steps, auto&, auto&) {
    steps[first(steps, StepKind::Reduce)].from = GraphBuilder::all_of(Buffer::Input);
  });
  longer.expect_rejected("they differ in length or elements");
  other.change(0, [](auto& steps, auto&, GraphTables& tables) {
    const Region from = steps[first(steps, StepKind::Reduce)].from;
    tables.buffers[static_cast<std::size_t>(from.buffer)].element = Dtype::U8;
  });
  EXPECT_FALSE(other.verify());
}

TEST(VerifyValues, ABuilderRefusesThemToo) {
  const auto said = [](void (*program)(GraphBuilder&)) {
    GraphBuilder g({.size = 2}, false);
    program(g);
    return std::string(g.status().message());
  };
  static constexpr Kernel kernel = {"a test's", nullptr};
  EXPECT_EQ(said([](GraphBuilder& g) { g.send(GraphBuilder::counted(g.input(), g.value()), 1); }),
            "position 0: value 0 is read before it is defined");
  EXPECT_EQ(said([](GraphBuilder& g) { g.decide({g.value()}); }),
            "position 0: what follows a part is chosen from agreed values");
  EXPECT_EQ(said([](GraphBuilder& g) {
              const Value value = g.value();
              g.kernel(kernel, {.defines = {value, value}});
            }),
            "position 0: value 0 is defined twice");
  EXPECT_EQ(said([](GraphBuilder& g) { g.receive_landed(1, {}); }),
            "position 0: a message that lands needs a capacity: the most that may come");
  EXPECT_EQ(
      said([](GraphBuilder& g) { g.copy(GraphBuilder::all_of(g.scratch(0, g.input(0, 1, 2)).buffer), g.input()); }),
      "position 0: [0, 1) of 1 in a scratch block for 1 of 2 at most");
  EXPECT_EQ(said([](GraphBuilder& g) { g.buffer({.role = Role::Landed}); }),
            "position 0: a buffer in which nothing lands: receive_landed() makes those");
  EXPECT_EQ(
      said([](GraphBuilder& g) { g.scratch(0, g.buffer({.capacity = [](const PartView&) { return size_t{9}; }})); }),
      "position 0: scratch like what is no range of the data: make a buffer of its own");
  EXPECT_EQ(said([](GraphBuilder& g) { g.buffer({.memory = MemoryKind::Cuda}); }),
            "position 0: a buffer in memory of a device, which nothing serves yet");
}

}  // namespace
}  // namespace lacuna
