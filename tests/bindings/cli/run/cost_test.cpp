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
Cost cost_of(Rank rank) {
  Cost cost{.seconds = 3.0 * rank, .waited = 1, .payload = 6};
  const MeasureCell told[3][4] = {
      {{-5, 2}, {10, 2}, {12, 4}, {7, 1}}, {{0, 0}, {2, 1}, {0, 0}, {0, 0}}, {{-9, 1}, {0, 3}, {8, 1}, {4, 9}}};
  for (std::size_t i = 0; i < 4; ++i) {
    cost.measures.push_back({std::string(table[i]->name), told[static_cast<std::size_t>(rank)][i]});
  }
  return cost;
}

std::vector<double> values_of(const Cost& cost) {
  std::vector<double> values;
  for (const MeasureCost& measure : cost.measures) values.push_back(measure.told.value);
  return values;
}

TEST(RunCost, ARecordWithOtherMeasuresIsRefused) {
  const std::vector<MethodChoice> methods = {{.label = "dense"},
                                             {.label = "sparse", .options = *method_options("topk:k=3")}};
  RunRecord record = {{.label = "dense"}, {.label = "sparse", .cost = {.measures = no_measures(methods[1].options)}}};
  record[1].evaluations = {{.steps = 1, .epochs = 1, .cost = record[1].cost, .metrics = {}}};
  EXPECT_TRUE(check_measures(record, methods));
  EXPECT_TRUE(check_measures({record[0]}, methods)) << "a run that has not come to the second method";
  for (const bool in_evaluation : {false, true}) {
    RunRecord other = record;
    Cost& cost = in_evaluation ? other[1].evaluations[0].cost : other[1].cost;
    cost.measures.pop_back();
    EXPECT_FALSE(check_measures(other, methods));
    cost.measures.push_back({.name = "topk.another"});
    const Status refused = check_measures(other, methods);
    EXPECT_EQ(refused.code(), Code::InvalidArgument);
    EXPECT_NE(refused.message().find("other measures of 'sparse'"), std::string::npos) << refused.message();
  }
}

TEST(RunCost, OfAllRanksAddsUpAsTheTableSays) {
  auto ranks = test::local(3, Progress::Thread);
  test::on_each(ranks, [](Communicator& rank) {
    const Result<Cost> cost = over_ranks(rank, table, cost_of(rank.rank()));
    ASSERT_TRUE(cost) << cost.status().to_string();
    EXPECT_EQ(cost->seconds, 3);
    EXPECT_EQ(cost->waited, 1);
    EXPECT_EQ(cost->payload, 6);
    EXPECT_EQ(values_of(*cost), (std::vector<double>{-5, 4, 4, 5.5}))
        << "the largest of two ranks, the mean sum, the mean of five calls, the mean of two last values";
  });
}

TEST(RunCost, OfMeasuresThatNoRankHasToldIsZero) {
  auto ranks = test::local(2, Progress::Thread);
  test::on_each(ranks, [](Communicator& rank) {
    Cost nothing;
    for (const Measure* measure : table) nothing.measures.push_back({std::string(measure->name), {}});
    const Result<Cost> cost = over_ranks(rank, table, nothing);
    ASSERT_TRUE(cost) << cost.status().to_string();
    EXPECT_EQ(values_of(*cost), (std::vector<double>{0, 0, 0, 0}));
  });
}

TEST(RunCost, OfSumsAloneTakesOneCall) {
  auto ranks = test::local(2, Progress::Thread);
  test::on_each(ranks, [](Communicator& rank) {
    const MeasureTable sums = MeasureTable(table).subspan(1, 1);
    ASSERT_TRUE(over_ranks(rank, sums, {.measures = {{"sum", {4, 2}}}}));
    ASSERT_TRUE(over_ranks(rank, {}, {}));
    const auto calls = rank.job_counters().communicators[0].calls[static_cast<std::size_t>(Collective::Allreduce)];
    EXPECT_EQ(calls.started, 2u) << "one for each cost";
  });
}

}  // namespace
}  // namespace lacuna::cli
