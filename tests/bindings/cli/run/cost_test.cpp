#include "bindings/cli/run/cost.hpp"

#include <gtest/gtest.h>

#include "algorithms/registry/registry.hpp"
#include "tests/bindings/cpp/facade_ranks.hpp"

namespace lacuna::cli {
namespace {

constexpr Measure sum = {.name = "sum"}, largest = {.name = "largest", .adds_up = AddsUp::Largest},
                  last = {.name = "last", .adds_up = AddsUp::Last}, mean = {.name = "mean", .adds_up = AddsUp::Mean};
constexpr const Measure* table[] = {&largest, &sum, &mean, &last};

/// Returns what each of three ranks has told. Rank 1 has told nothing about three measures.
WorkCost cost_of(Rank rank) {
  WorkCost cost{.seconds = 3.0 * rank, .waited = 1, .payload = 6};
  const MeasureCell told[3][4] = {
      {{-5, 2}, {10, 2}, {12, 4}, {7, 1}}, {{0, 0}, {2, 1}, {0, 0}, {0, 0}}, {{-9, 1}, {0, 3}, {8, 1}, {4, 9}}};
  for (std::size_t i = 0; i < 4; ++i) {
    cost.measures.push_back({std::string(table[i]->name), told[static_cast<std::size_t>(rank)][i]});
  }
  return cost;
}

std::vector<double> values_of(const WorkCost& cost) {
  std::vector<double> values;
  for (const MeasureCost& measure : cost.measures) values.push_back(measure.told.value);
  return values;
}

TEST(RunCost, ARecordWithOtherMeasuresIsRefused) {
  const MethodOptions sparse = *method_options("topk:k=3");
  WorkRecord record{.label = "sparse", .cost = {.measures = no_measures(sparse)}};
  record.evaluations = {{.steps = 1, .epochs = 1, .figures = {}, .cost = {.together = record.cost}, .metrics = {}}};
  EXPECT_TRUE(check_measures(record, sparse));
  EXPECT_TRUE(check_measures({.label = "dense"}, {}));
  for (const bool in_evaluation : {false, true}) {
    WorkRecord other = record;
    WorkCost& cost = in_evaluation ? other.evaluations[0].cost.together : other.cost;
    cost.measures.pop_back();
    EXPECT_FALSE(check_measures(other, sparse));
    cost.measures.push_back({.name = "topk.another"});
    const Status refused = check_measures(other, sparse);
    EXPECT_EQ(refused.code(), Code::InvalidArgument);
    EXPECT_NE(refused.message().find("other measures of 'sparse'"), std::string::npos) << refused.message();
  }
}

TEST(RunCost, OfAllRanksAddsUpAsTheTableSays) {
  auto ranks = test::local(3, Progress::Thread);
  test::on_each(ranks, [](Communicator& rank) {
    const Result<CostOfRanks> cost = over_ranks(rank, table, cost_of(rank.rank()));
    ASSERT_TRUE(cost) << cost.status().to_string();
    EXPECT_EQ(cost->together.seconds, 3);
    EXPECT_EQ(cost->together.waited, 1);
    EXPECT_EQ(cost->together.payload, 6);
    EXPECT_EQ(values_of(cost->together), (std::vector<double>{-5, 4, 4, 5.5}))
        << "the largest of two ranks, the mean sum, the mean of five calls, the mean of two last values";
    const std::vector<std::vector<double>> by_rank = {{0, 3, 6},  {1, 1, 1}, {6, 6, 6}, {-5, 0, -9},
                                                      {10, 2, 0}, {3, 0, 8}, {7, 0, 4}};
    EXPECT_EQ(cost->by_rank, by_rank) << "of these each mean is that of a rank's own calls";
  });
}

TEST(RunCost, OfMeasuresThatNoRankHasToldIsZero) {
  auto ranks = test::local(2, Progress::Thread);
  test::on_each(ranks, [](Communicator& rank) {
    WorkCost nothing;
    for (const Measure* measure : table) nothing.measures.push_back({std::string(measure->name), {}});
    const Result<CostOfRanks> cost = over_ranks(rank, table, nothing);
    ASSERT_TRUE(cost) << cost.status().to_string();
    EXPECT_EQ(values_of(cost->together), (std::vector<double>{0, 0, 0, 0}));
  });
}

TEST(RunCost, OfAllRanksTakesOneCall) {
  auto ranks = test::local(2, Progress::Thread);
  test::on_each(ranks, [](Communicator& rank) {
    ASSERT_TRUE(over_ranks(rank, table, cost_of(rank.rank())));
    ASSERT_TRUE(over_ranks(rank, {}, {}));
    std::uint64_t started = 0;
    for (const CallCounters& calls : rank.job_counters().communicators[0].calls) started += calls.started;
    EXPECT_EQ(started, 2u) << "one for each cost";
  });
}

}  // namespace
}  // namespace lacuna::cli
