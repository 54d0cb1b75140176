#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "runtime/graph/builder.hpp"
#include "runtime/graph/verify.hpp"
#include "tests/support/sparse_sum.hpp"

// These tests take the graphs of sparse_sum and change one thing in one of them: a buffer, a value or a kernel.
namespace lacuna {
namespace {

/// The graphs of sparse_sum, whose messages carry their lengths. With `second`, those of the part that follows, whose
/// lengths are agreed.
class Sparse {
 public:
  explicit Sparse(bool second = false, Rank size = 3) {
    for (Rank position = 0; position < size; ++position) {
      GraphBuilder builder(
          {.size = size, .position = position, .structure = {.parameters = test::SparseSumForm{.second = second}}},
          false);
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

struct DefineTwo {
  static constexpr std::string_view name = "a test's";
  Define one, other;

  Status operator()(const KernelCall&) const { return {}; }
};

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
    edges.emplace_back(kernel, first(steps, StepKind::Reduce));  // this step writes what the kernel reads
  });
  plan.expect_rejected("value 0 is read before it is defined");
}

TEST(VerifyValues, RejectsWhatHasLandedBeingReleasedTooEarly) {
  Sparse plan;
  plan.change(0, [](auto& steps, auto& edges, auto&) {
    const StepId release = first(steps, StepKind::Release);
    std::erase_if(edges, [&](const auto& edge) { return edge.second == release; });
    edges.emplace_back(first(steps, StepKind::Receive), release);  // none comes from the kernel that reads the memory
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
  longer.expect_rejected("they differ in length or element type");
  other.change(0, [](auto& steps, auto&, GraphTables& tables) {
    const Region from = steps[first(steps, StepKind::Reduce)].from;
    tables.buffers[static_cast<std::size_t>(from.buffer)].element = Dtype::U8;
  });
  EXPECT_FALSE(other.verify());
}

TEST(VerifyValues, WhereOnlyTwoRanksKnowALengthAReceiveOfAnAgreedOneStillTakesNoOther) {
  GraphBuilder g({.collective = Collective::Alltoallv, .size = 2}, false);
  const Value agreed = g.agreed();
  g.kernel(DefineTwo{.one = agreed, .other = Value::None});
  g.receive(GraphBuilder::counted(g.buffer({.capacity = [](const PartView&) { return std::size_t{9}; }}), agreed), 1);
  g.receive(g.output(1), 1);
  g.receive(GraphBuilder::signal(), 1);
  ASSERT_TRUE(g.status()) << g.status().to_string();
  const Graph graph = std::move(g).build();
  const auto steps = graph.steps();
  EXPECT_FALSE(steps[1].carries);
  EXPECT_TRUE(steps[2].carries) << "a block of the table";
  EXPECT_FALSE(steps[3].carries) << "a signal has no length";
}

/// Each of three positions sends as many elements to the next one as both have worked out.
class Paired {
 public:
  explicit Paired(void (*change)(Rank position, GraphBuilder& g)) {
    for (Rank position = 0; position < 3; ++position) {
      GraphBuilder g({.size = 3, .position = position}, false);
      change(position, g);
      EXPECT_TRUE(g.status()) << g.status().to_string();
      graphs_.push_back(std::move(g).build());
    }
  }
  Status verify() const { return lacuna::verify(std::vector{&graphs_[0], &graphs_[1], &graphs_[2]}); }

 private:
  std::vector<Graph> graphs_;
};

struct Tell {
  static constexpr std::string_view name = "tell";
  Define first, second, third;

  Status operator()(const KernelCall&) const { return {}; }
};

template <int wrong>
void pass_on(Rank me, GraphBuilder& g) {
  const bool odd = me == 1;
  const Value first = g.paired(me, me + 1), second = g.paired(me, me + 1), back = g.paired(me + 1, me);
  const Value other = g.paired(me - 1, me), same = g.paired(me - 1, me), forth = g.paired(me, me - 1);
  g.kernel(Tell{.first = first, .second = second, .third = back});
  g.kernel(Tell{.first = other, .second = same, .third = forth});
  g.send(GraphBuilder::counted(g.input(), wrong == 1 && odd ? second : wrong == 2 && odd ? other : first), me + 1);
  g.receive(GraphBuilder::counted(g.output(), wrong == 3 && odd ? forth : other), me - 1);
}

TEST(VerifyValues, AcceptsALengthThatAKernelOfEachEndDefines) {
  const Status status = Paired(pass_on<0>).verify();
  EXPECT_TRUE(status) << status.to_string();
}

TEST(VerifyValues, RejectsEndsThatNameDifferentValuesOfTheirPairOrOneOfAnotherPair) {
  for (const auto& change : {pass_on<1>, pass_on<2>, pass_on<3>}) {
    const Status status = Paired(change).verify();
    EXPECT_NE(status.message().find("the two ends do not name the same value of this pair of positions"),
              std::string::npos)
        << status.to_string();
  }
}

TEST(VerifyValues, AcceptsPositionsThatBothAskForTheirOwnDirectionFirst) {
  std::vector<Graph> graphs;
  for (const Rank me : {0, 1}) {
    GraphBuilder g({.size = 2, .position = me}, false);
    const Value out = g.paired(me, me + 1), in = g.paired(me + 1, me), more = g.paired(me, me + 1);
    g.kernel(Tell{.first = out, .second = in, .third = more});
    g.send(GraphBuilder::counted(g.input(), out), me + 1);
    g.receive(GraphBuilder::counted(g.output(), in), me + 1);
    graphs.push_back(std::move(g).build());
  }
  const Status status = verify(std::vector<const Graph*>{&graphs[0], &graphs[1]});
  EXPECT_TRUE(status) << status.to_string();
}

TEST(VerifyValues, ABuilderRefusesAPairThatItsPositionIsNotOneOf) {
  for (const auto& [from, to] : {std::pair<Rank, Rank>{1, 2}, {0, 0}, {3, 0}}) {
    GraphBuilder g({.size = 3}, false);
    g.paired(from, to);
    EXPECT_NE(g.status().message().find("exactly one of them must be the own one"), std::string::npos) << from;
  }
}

TEST(VerifyValues, ABuilderRefusesThemToo) {
  const auto said = [](void (*program)(GraphBuilder&)) {
    GraphBuilder g({.size = 2}, false);
    program(g);
    return std::string(g.status().message());
  };
  EXPECT_EQ(said([](GraphBuilder& g) { g.send(GraphBuilder::counted(g.input(), g.value()), 1); }),
            "position 0: value 0 is read before it is defined");
  EXPECT_EQ(said([](GraphBuilder& g) { g.decide({g.value()}); }), "position 0: decide() must be given agreed values");
  EXPECT_EQ(said([](GraphBuilder& g) {
              const Value value = g.value();
              g.kernel(DefineTwo{.one = value, .other = value});
            }),
            "position 0: value 0 is defined twice");
  EXPECT_EQ(said([](GraphBuilder& g) { g.receive_landed(1, {}); }),
            "position 0: a message that lands needs a capacity: the most that may come");
  EXPECT_EQ(
      said([](GraphBuilder& g) { g.copy(GraphBuilder::all_of(g.scratch(0, g.input(0, 1, 2)).buffer), g.input()); }),
      "position 0: [0, 1) of 1 is too long for a scratch block that holds 1 of 2");
  EXPECT_EQ(said([](GraphBuilder& g) { g.buffer({.role = Role::Landed}); }),
            "position 0: buffer() is called for a message that lands: receive_landed() makes its buffer");
  EXPECT_EQ(
      said([](GraphBuilder& g) { g.scratch(0, g.buffer({.capacity = [](const PartView&) { return size_t{9}; }})); }),
      "position 0: room is asked for what is no region of the data: buffer() makes memory for that");
  EXPECT_EQ(said([](GraphBuilder& g) { g.buffer({.memory = MemoryKind::Cuda}); }),
            "position 0: a buffer is to lie in memory of a device, which is not supported yet");
  static constexpr auto nine = [](const PartView&) { return std::size_t{9}; };
  for (const BufferInfo& info :
       {BufferInfo{.role = Role::Run, .capacity = nine}, BufferInfo{.role = Role::Run, .name = "a"}}) {
    GraphBuilder g({.size = 2}, false);
    g.buffer(info);
    EXPECT_EQ(g.status().message(), "position 0: a buffer in the run's memory must have a name and a capacity");
  }
  EXPECT_EQ(said([](GraphBuilder& g) {
              g.buffer({.role = Role::Run, .capacity = nine, .name = "a"});
              g.buffer({.role = Role::Run, .element = Dtype::I32, .capacity = nine, .name = "a"});
            }),
            "position 0: the run's memory a is declared in two ways");
}

}  // namespace
}  // namespace lacuna
