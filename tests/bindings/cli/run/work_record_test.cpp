#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "bindings/cli/run/record.hpp"

namespace lacuna::cli {
namespace {

Evaluation evaluation_of(WorkCost cost) {
  const std::vector<double> ranks = {1, 2};
  return {.steps = 10,
          .epochs = 0.5,
          .figures = {.sum = 3, .count = 4},
          .cost = {.together = std::move(cost), .by_rank = {ranks, ranks, ranks}},
          .metrics = {.values = {{.name = "test_accuracy", .value = 0.875, .percent = true}},
                      .fingerprint = 0xfedcba9876543210U,
                      .details = {{.name = "gradient_norm", .value = 0.5, .unit = "m", .description = "a norm"}}}};
}

RunRecord sample_record() {
  const WorkCost dense{.seconds = 40, .waited = 30, .payload = 4e9};
  const WorkCost half{.seconds = 20, .waited = 5, .payload = 2e9, .measures = {{"skip.steps", {40, 20}}}};
  const auto finished = [](std::string label, bool is_dense, const WorkCost& cost) {
    return WorkRecord{.label = std::move(label),
                      .seed = 1,
                      .dense = is_dense,
                      .finished = true,
                      .steps = 10,
                      .cost = cost,
                      .evaluations = {evaluation_of(cost)}};
  };
  return {finished("half", false, half), finished("ring", true, dense), {.label = "begun", .cost = half}};
}

TEST(RunRecord, SurvivesItsJson) {
  const std::string text = to_json(sample_record().front());
  const Result<WorkRecord> back = record_from_json(text);
  ASSERT_TRUE(back) << back.status().to_string();
  EXPECT_EQ(to_json(*back), text);
  EXPECT_EQ(back->steps, 10u);
  EXPECT_EQ(back->evaluations.front().metrics.fingerprint, 0xfedcba9876543210U);
  EXPECT_EQ(back->evaluations.front().metrics.details.front().unit, "m");
}

TEST(RunRecord, ANumberThatIsNotFiniteSurvivesToo) {
  for (double value : {HUGE_VAL, -HUGE_VAL, std::nan("")}) {
    WorkRecord record = sample_record().front();
    record.evaluations.front().metrics.values.front().value = value;
    record.evaluations.front().cost.by_rank.front().front() = value;
    record.figures.sum = value;
    const Result<WorkRecord> back = record_from_json(to_json(record));
    ASSERT_TRUE(back) << back.status().to_string();
    const Evaluation& evaluation = back->evaluations.front();
    for (const double read :
         {evaluation.metrics.values.front().value, evaluation.cost.by_rank.front().front(), back->figures.sum}) {
      EXPECT_TRUE(read == value || (std::isnan(read) && std::isnan(value))) << value;
    }
  }
}

TEST(RunRecord, DamagedJsonIsAnError) {
  const std::string text = to_json(sample_record().front());
  EXPECT_EQ(record_from_json(text.substr(0, text.size() / 2)).status().code(), Code::Io);
  EXPECT_EQ(record_from_json("{}").status().code(), Code::Io);
  std::string without = text;
  without.replace(without.find("measures"), 8, "numbers1");
  EXPECT_EQ(record_from_json(without).status().code(), Code::Io) << "it would lose the measures of the steps before it";
}

}  // namespace
}  // namespace lacuna::cli
