#include <gtest/gtest.h>

#include "runtime/method/method.hpp"
#include "tests/support/lone_rank.hpp"

namespace lacuna::test {
namespace {

int graphs_built = 0;

struct SelectOne {
  static constexpr std::string_view name = "select";
  Read from;
  Define count;

  Status operator()(const KernelCall&) const {
    *count = 1;
    return {};
  }
};

/// Each rank sends one element to all other ranks.
const Algorithm sending = {
    .collective = Collective::Allreduce,
    .name = "sending",
    .summary = "a test's",
    .symmetric = false,
    .build =
        [](GraphBuilder& g) {
          ++graphs_built;
          const Value length = g.value();
          g.kernel(SelectOne{.from = g.input(), .count = length});
          const Region mine = GraphBuilder::counted(g.input(), length);
          for (Rank distance = 1; distance < g.size(); ++distance) g.send(mine, g.position() + distance);
        },
};

const Algorithm passing = {
    .collective = Collective::Allreduce,
    .name = "passing",
    .summary = "a test's",
    .symmetric = true,
    .build =
        [](GraphBuilder& g) {
          ++graphs_built;
          g.send(g.input(), g.position() + 1);
          g.receive(g.output(), g.position() - 1);
        },
};

constexpr int stated_rounds = 41;

int rounds_of_part(const PartPlan& part, Rank) { return stated_rounds + part.outcome; }

const MethodAlgorithm serving[] = {
    {.algorithm = &sending, .name = "sending", .summary = "a test's", .dense = &passing, .rounds = rounds_of_part}};

constexpr std::string_view outcomes[] = {"dense", "sent"};

struct NoOptions {};

const Method method = {
    .name = "sending",
    .outcomes = outcomes,
    .algorithms = serving,
    .make = option::make<NoOptions>,
    .is_on = [](const void*) { return true; },
    .plan =
        [](const PlanRequest& request, Plan& plan) {
          plan.reports = true;
          plan.parts.push_back({.data = {0, request.call.count}, .outcome = 1, .lossy = true});
        },
};

TEST(Reports, OfAnAlgorithmWhoseMethodStatesItsRoundsNeedNoGraphsOfOtherPositions) {
  constexpr Rank size = 1024;
  LoneRank job(size);
  const std::vector<float> input(4096, 1);
  std::vector<float> output(4096);
  Call call = allreduce_call(input, output);
  call.options.method = MethodOptions(method, std::make_shared<const NoOptions>());
  graphs_built = 0;
  const auto run = job.communicator.post(call, sending);
  ASSERT_TRUE(run) << run.status().to_string();
  job.progress();
  ASSERT_TRUE((*run)->finished);
  const Report report = job.communicator.report(**run);
  EXPECT_LE(graphs_built, 2) << "its own and the dense one's";
  EXPECT_EQ(report.rounds, stated_rounds + 1);
  EXPECT_EQ(report.dense_rounds, 1);
  EXPECT_EQ(report.dense_sent, 4096 * sizeof(float));
  EXPECT_EQ(report.sent, (size - 1) * sizeof(float));
}

}  // namespace
}  // namespace lacuna::test
