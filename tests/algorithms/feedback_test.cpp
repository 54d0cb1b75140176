#include "algorithms/phases/feedback.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "runtime/graph/algorithm.hpp"
#include "runtime/graph/graphs.hpp"
#include "runtime/graph/verify.hpp"

namespace lacuna {
namespace {

struct ReadInput {
  static constexpr std::string_view name = "read input";
  Read input;
  Write output;

  Status operator()(const KernelCall&) const { return {}; }
};

/// Takes what it sends from the residual.
struct KeepInput {
  static constexpr std::string_view name = "keep input";
  Write input, output;

  Status operator()(const KernelCall&) const { return {}; }
};

struct ReadCounted {
  static constexpr std::string_view name = "read counted";
  Read input;
  Use count;
  Write output;

  Status operator()(const KernelCall&) const { return {}; }
};

struct Count {
  static constexpr std::string_view name = "count";
  Define count;

  Status operator()(const KernelCall&) const { return {}; }
};

using Build = void (*)(GraphBuilder&);

Result<Graphs> graphs_with_feedback(Build build) {
  const Algorithm program = {.collective = Collective::Allreduce,
                             .name = "program",
                             .summary = "a test's",
                             .symmetric = false,
                             .build = build};
  return graphs_of(program, 2, {.structure = {.frame = &feedback_frame}});
}

/// Returns the places of the residual that the program with feedback clears at its end.
std::vector<Region> cleared(Build build) {
  const Result<Graphs> graphs = graphs_with_feedback(build);
  if (!graphs) {
    ADD_FAILURE() << graphs.status().to_string();
    return {};
  }
  const Status fits = verify(graphs->all());
  EXPECT_TRUE(fits) << fits.to_string();
  std::vector<Region> all;
  for (const Step& step : graphs->at(0).steps()) {
    if (step.kind == StepKind::Clear) all.push_back(step.to);
  }
  return all;
}

TEST(FeedbackFrame, ClearsWhatAKernelHasRead) {
  const auto all =
      cleared([](GraphBuilder& g) { g.kernel(ReadInput{.input = g.input(0, 1, 2), .output = g.output()}); });
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].begin, 0u);
  EXPECT_EQ(all[0].end, 1u);
  EXPECT_EQ(all[0].of, 2u);
}

TEST(FeedbackFrame, LeavesTheResidualToAKernelThatWritesIt) {
  EXPECT_TRUE(cleared([](GraphBuilder& g) { g.kernel(KeepInput{.input = g.input(), .output = g.output()}); }).empty());
}

TEST(FeedbackFrame, ClearsNothingThatTheProgramHasLeftOut) {
  const auto all = cleared([](GraphBuilder& g) {
    const Region sum = g.scratch(0, g.input(1, 2, 2));
    g.copy(g.output(), g.input());
    g.copy(sum, g.input(1, 2, 2));
    leave_out(g, sum);
  });
  ASSERT_FALSE(all.empty());
  for (const Region& region : all) EXPECT_LE(region.end * 2, region.of) << "the second half was left out";
}

TEST(FeedbackFrame, RefusesAPartOfTheResidualWhoseLengthOnlyAValueTells) {
  const auto graphs = graphs_with_feedback([](GraphBuilder& g) {
    const Value count = g.value();
    g.kernel(Count{.count = count});
    g.kernel(ReadCounted{.input = GraphBuilder::counted(g.input(), count), .count = count, .output = g.output()});
  });
  ASSERT_FALSE(graphs);
  EXPECT_NE(graphs.status().message().find("whose length only a value tells"), std::string::npos)
      << graphs.status().message();
}

TEST(FeedbackFrame, NothingIsLeftOutWithoutIt) {
  GraphBuilder g({.size = 2}, false);
  leave_out(g, g.output());
  EXPECT_TRUE(g.steps().empty());
}

}  // namespace
}  // namespace lacuna
