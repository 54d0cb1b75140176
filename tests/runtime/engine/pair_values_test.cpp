#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <vector>

#include "runtime/graph/builder.hpp"
#include "runtime/graph/plan.hpp"
#include "runtime/graph/verify.hpp"
#include "runtime/method/method.hpp"
#include "tests/support/delayed_compute.hpp"
#include "tests/support/hand_clock.hpp"
#include "tests/support/ranks.hpp"

// These tests have lengths that only the two ends of a message know, and counted regions that are declared disjoint.
namespace lacuna::test {
namespace {

using Numbers = std::vector<std::int32_t>;

/// The options of a method for tests: an allreduce on two ranks, in parts. A rank adds the first elements of the other
/// rank's data to its own.
struct Prefixes {
  std::uint64_t of[2] = {0, 0};  ///< how many elements each rank sends, as this rank believes
  std::uint64_t apart = 1;       ///< how far behind the first half of the result its second half begins
  std::uint32_t parts = 1;
};

struct TellLengths {
  static constexpr std::string_view name = "lengths";
  Define mine, theirs;

  Status operator()(const KernelCall& call) const {
    const auto& asked = call.part.call.options.method.as<Prefixes>();
    const auto me = static_cast<std::size_t>(call.part.position);
    *mine = asked.of[me];
    *theirs = asked.of[1 - me];
    return {};
  }
};

void build(GraphBuilder& g) {
  const Rank me = g.position();
  const Value mine = g.paired(me, me + 1), theirs = g.paired(me - 1, me);
  g.kernel(TellLengths{.mine = mine, .theirs = theirs});
  g.copy(g.output(), g.input());
  const Region got = GraphBuilder::counted(g.buffer({}), theirs);
  g.send(GraphBuilder::counted(g.input(), mine), me + 1);
  g.receive(got, me - 1);
  g.reduce(GraphBuilder::counted(g.output(), theirs), got);
}

void plan(const PlanRequest& request, Plan& plan) {
  const auto& asked = request.call.options.method.as<Prefixes>();
  const std::size_t length = request.call.count / asked.parts;
  for (std::uint32_t i = 0; i < asked.parts; ++i) {
    plan.parts.push_back({.data = {i * length, length},
                          .outcome = 1,
                          .lossy = true,
                          .draw = i + 1});  // so no part sends an empty first message
  }
}

constexpr std::string_view outcomes[] = {"dense", "prefixes"};
extern const MethodAlgorithm algorithms[];
extern const Algorithm prefixes;
const Method method = {
    .name = "prefixes",
    .summary = "a test's",
    .outcomes = outcomes,
    .algorithms = {algorithms, 1},
    .make = option::make<Prefixes>,
    .is_on = [](const void*) { return true; },
    .plan = plan,
};
const Algorithm prefixes = {
    .collective = Collective::Allreduce, .name = "prefixes", .summary = "a test's", .symmetric = true, .build = build};
const MethodAlgorithm algorithms[] = {{&prefixes, "prefixes", "a test's"}};

constexpr std::size_t length = 4;  // elements of each part

/// A call on two ranks.
struct Job {
  explicit Job(std::uint32_t all = 1, const Algorithm& program = prefixes)
      : parts(all), algorithm(program), inputs(2, Numbers(all * length)), outputs(2, Numbers(all * length, -1)) {
    std::iota(inputs[0].begin(), inputs[0].end(), 1);
    std::iota(inputs[1].begin(), inputs[1].end(), 100);
  }
  runtime::Run& post(Ranks& ranks, std::size_t rank, Prefixes asked) {
    asked.parts = parts;
    Call call{.collective = Collective::Allreduce,
              .input = inputs[rank].data(),
              .output = outputs[rank].data(),
              .count = inputs[rank].size(),
              .dtype = Dtype::I32};
    call.options.method = {method, std::make_shared<const Prefixes>(asked)};
    return **ranks.communicator(static_cast<Rank>(rank)).post(call, algorithm);
  }
  Numbers expected(std::size_t rank, std::uint64_t theirs) const {
    Numbers sum = inputs[rank];
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += i % length < theirs ? inputs[1 - rank][i] : 0;
    return sum;
  }

  const std::uint32_t parts;
  const Algorithm& algorithm;
  std::vector<Numbers> inputs, outputs;
};

TEST(PairedValues, AMessageIsAsLongAsBothEndsHaveWorkedOut) {
  for (const std::size_t eager : {std::size_t{0}, std::size_t{1} << 30}) {
    for (std::uint64_t first = 0; first <= length; ++first) {
      for (std::uint64_t second = 0; second <= length; ++second) {
        RanksOptions options{.network = {.seed = first + 5 * second}, .executor = quick_executor()};
        options.executor.eager_bytes = eager;
        options.executor.compute = delayed_compute;
        Ranks ranks(2, options);
        Job job(3);
        const runtime::Run *one = &job.post(ranks, 0, {{first, second}}),
                           *other = &job.post(ranks, 1, {{first, second}});
        ASSERT_TRUE(ranks.sweep_until([&] { return one->finished && other->finished; })) << first << " " << second;
        ASSERT_TRUE(one->status && other->status) << one->status.to_string();
        EXPECT_EQ(job.outputs[0], job.expected(0, second));
        EXPECT_EQ(job.outputs[1], job.expected(1, first));
      }
    }
  }
}

TEST(PairedValues, ALengthOfZeroSendsNothingAndNobodyWaits) {
  Ranks ranks(2);
  Job job(3);
  const runtime::Run& one = job.post(ranks, 0, {{2, 0}});
  EXPECT_TRUE(one.finished) << "rank 0 waits, though nothing comes";
  const runtime::Run& other = job.post(ranks, 1, {{2, 0}});
  ASSERT_TRUE(ranks.sweep_until([&] { return other.finished; }));
  EXPECT_EQ(ranks.counters(0).messages_sent, 3u);
  EXPECT_EQ(ranks.counters(1).messages_sent, 0u);
  EXPECT_EQ(job.outputs[1], job.expected(1, 2));
}

/// Rank 1 sends three elements, but rank 0 expects another number.
void expect_mismatch(std::size_t first_to_post, std::uint64_t expected, const char* says) {
  for (const std::uint32_t parts : {1u, 3u}) {
    for (const std::size_t eager : {std::size_t{0}, std::size_t{1} << 30}) {
      RanksOptions options{.executor = quick_executor()};
      options.executor.eager_bytes = eager;
      Ranks ranks(2, options);
      Job job(parts);
      for (const std::size_t rank : {first_to_post, 1 - first_to_post}) {
        job.post(ranks, rank, {{0, rank == 0 ? expected : 3}});
        ranks.sweep_until([] { return false; });
      }
      const Status status = ranks.communicator(0).status();
      EXPECT_EQ(status.code(), Code::Mismatch) << status.to_string();
      EXPECT_NE(status.message().find(says), std::string::npos) << status.to_string();
      for (Rank rank : {0, 1}) ranks.communicator(rank).fail({Code::Internal, "the test ends"});
    }
  }
}

TEST(PairedValues, EndsThatDisagreeAreAMismatchWhicheverComesFirst) {
  for (const std::size_t first : {0u, 1u}) {
    expect_mismatch(first, 2, "rank 1 sent 3 elements of i32 where rank 0 expects 2");
    expect_mismatch(first, 4, "rank 1 sent 3 elements of i32 where rank 0 expects 4");
  }
}

TEST(PairedValues, AMessageThatItsReceiverTookForEmptyIsAMismatchBeforeItsStepAndAfterItsCall) {
  expect_mismatch(1, 0, "rank 1 sent 3 elements of i32 where rank 0 expects 0");
  expect_mismatch(0, 0, "rank 0, which has a step that waits for no message");
}

TEST(PairedValues, AMessageThatItsSenderTookForEmptyIsMissedAtTheDeadline) {
  HandClock clock;
  RanksOptions options{.executor = quick_executor()};
  options.executor.time = runtime::TimeSource(clock);
  Ranks ranks(2, options);
  Job job;
  const runtime::Run& waits = job.post(ranks, 0, {{0, 3}});
  job.post(ranks, 1, {{0, 0}});
  ranks.sweep_until([] { return false; });
  EXPECT_FALSE(waits.finished);
  clock.move(options.executor.deadline + std::chrono::seconds(1));
  for (int i = 0; i < 3000 && !waits.finished; ++i) ranks.sweep();
  EXPECT_EQ(waits.status.code(), Code::TimedOut) << waits.status.to_string();
  EXPECT_NE(waits.status.message().find("misses 12 of 12 bytes from rank 1"), std::string::npos)
      << waits.status.to_string();
}

/// Two kernels fill two counted regions of the output. Another kernel says where these lie.
struct TellHalves {
  static constexpr std::string_view name = "halves";
  Define begin, count, behind, rest;

  Status operator()(const KernelCall& call) const {
    *begin = 0;
    *behind = call.part.call.options.method.as<Prefixes>().apart;
    *count = *rest = 2;
    return {};
  }
};
struct Fill {
  static constexpr std::string_view name = "fill";
  Write half;
  std::int32_t value;

  Status operator()(const KernelCall&) const {
    for (std::size_t i = 0; i < half->count; ++i) std::memcpy(half->data + i * sizeof value, &value, sizeof value);
    return {};
  }
};

template <bool declared>
void build_halves(GraphBuilder& g) {
  const Value begin = g.value(), count = g.value(), behind = g.value(), rest = g.value();
  g.kernel(TellHalves{.begin = begin, .count = count, .behind = behind, .rest = rest});
  std::vector<Region> halves = {GraphBuilder::counted(g.output(), count, begin),
                                GraphBuilder::counted(g.output(), rest, behind)};
  if (declared) halves = g.disjoint(halves);
  g.kernel(Fill{.half = halves[0], .value = 1});
  g.kernel(Fill{.half = halves[1], .value = 2});
  g.kernel(Fill{.half = halves[0], .value = 3});  // follows the first kernel
}

Graph graph_of(void (*build)(GraphBuilder&)) {
  GraphBuilder g({.size = 1}, false);
  build(g);
  EXPECT_TRUE(g.status()) << g.status().to_string();
  return std::move(g).build();
}

bool follows(const Graph& graph, StepId earlier, StepId later) {
  const auto next = graph.successors(earlier);
  return std::find(next.begin(), next.end(), later) != next.end();
}

TEST(DisjointRegions, DoNotOrderEachOtherAndAreOrderedByThemselves) {
  const Graph free = graph_of(build_halves<true>), chain = graph_of(build_halves<false>);
  EXPECT_FALSE(follows(free, 1, 2));
  EXPECT_FALSE(follows(free, 2, 3));
  EXPECT_TRUE(follows(free, 1, 3));
  EXPECT_TRUE(follows(chain, 1, 2) && follows(chain, 2, 3));
  const Graph* graphs[] = {&free};
  EXPECT_TRUE(verify(graphs)) << verify(graphs).to_string();
}

TEST(DisjointRegions, AreOrderedBehindAWriteOfAllAndBeforeOne) {
  const Graph graph = graph_of([](GraphBuilder& g) {
    g.clear(g.output());
    build_halves<true>(g);
    g.clear(g.output());
  });
  for (const StepId half : {2u, 3u}) EXPECT_TRUE(follows(graph, 0, half)) << half;
  for (const StepId half : {3u, 4u}) EXPECT_TRUE(follows(graph, half, 5)) << half;
}

TEST(DisjointRegions, VerifyRejectsOneThatIsNotAmongThoseDeclared) {
  Graph graph = graph_of(build_halves<true>);
  GraphTables tables = graph.tables();
  tables.disjoint[0].pop_back();
  std::vector<Graph::Edge> edges;
  for (StepId step = 0; step < graph.steps().size(); ++step) {
    for (StepId next : graph.successors(step)) edges.emplace_back(step, next);
  }
  const Graph changed(graph.shape(), false, {graph.steps().begin(), graph.steps().end()}, edges, tables);
  const Graph* graphs[] = {&changed};
  EXPECT_EQ(verify(graphs).message(),
            "position 0 step 2: a region is used as disjoint from others, but is not declared so");
}

TEST(DisjointRegions, ABuilderRefusesWhatIsNotCountedOrIsOfTwoBuffers) {
  const char* says = "position 0: disjoint regions must be counted, lie in one buffer and be declared once";
  GraphBuilder even({.size = 1}, false), two({.size = 1}, false), twice({.size = 1}, false);
  even.disjoint({even.output(), even.input()});
  EXPECT_EQ(even.status().message(), says);
  const Value told = two.value();
  two.disjoint({GraphBuilder::counted(two.output(), told), GraphBuilder::counted(two.input(), told)});
  EXPECT_EQ(two.status().message(), says);
  const auto once = twice.disjoint({GraphBuilder::counted(twice.output(), twice.value())});
  EXPECT_TRUE(twice.status());
  twice.disjoint(once);
  EXPECT_EQ(twice.status().message(), says);
}

TEST(DisjointRegions, ThatShareAnElementWhenTheyRunEndTheCall) {
  static const Algorithm halves = {.collective = Collective::Allreduce,
                                   .name = "prefixes",
                                   .summary = "a test's",
                                   .symmetric = true,
                                   .build = [](GraphBuilder& g) {
                                     g.send(GraphBuilder::signal(), g.position() + 1);
                                     build_halves<true>(g);
                                     g.receive(GraphBuilder::signal(), g.position() - 1);
                                   }};
  for (const std::uint64_t apart : {0u, 1u, 2u}) {
    Ranks ranks(2);
    Job job(1, halves);
    const runtime::Run& run = job.post(ranks, 0, {.apart = apart});
    const runtime::Run& other = job.post(ranks, 1, {.apart = apart});
    ranks.sweep_until([&] { return run.finished && other.finished; });
    EXPECT_EQ(run.status.is_ok(), apart == 2) << run.status.to_string();
    if (apart == 2) {
      EXPECT_EQ(job.outputs[0], (Numbers{3, 3, 2, 2}));
    } else {
      EXPECT_NE(run.status.message().find("share elements, which the program has declared disjoint"), std::string::npos)
          << run.status.to_string();
    }
  }
}

}  // namespace
}  // namespace lacuna::test
