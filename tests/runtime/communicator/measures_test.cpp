#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "algorithms/topk/topk.hpp"
#include "tests/support/calls.hpp"
#include "tests/support/told_method.hpp"

// These tests show how the measures of a method add up in reports, in counters and in the texts of calls.
namespace lacuna::test {
namespace {

using Doubles = std::vector<double>;

/// The values for the kernels of two parts: `base` + i in element i of the first part, and 10 more in the second part.
Doubles input_from(double base) {
  Doubles input(2 * told_measures);
  std::iota(input.begin(), input.begin() + told_measures, base);
  std::iota(input.begin() + told_measures, input.end(), base + 10);
  return input;
}

Call told_call(const Doubles& input, Doubles& output, const Method& method = told_method) {
  Call call{.collective = Collective::Allreduce,
            .input = input.data(),
            .output = output.data(),
            .count = input.size(),
            .dtype = Dtype::F64};
  call.options.method = told_options(method);
  return call;
}

class ToldCalls : public testing::Test {
 protected:
  Report run(double base, const Method& method = told_method) {
    const Doubles input = input_from(base);
    Doubles output(input.size());
    auto& communicator = ranks_.communicator(0);
    const auto posted = communicator.post(told_call(input, output, method), told_algorithm);
    EXPECT_TRUE(posted) << posted.status().to_string();
    EXPECT_TRUE(communicator.wait(**posted));
    EXPECT_EQ(output, input);
    const Report report = communicator.report(**posted);
    communicator.release(**posted);
    return report;
  }
  MethodCounters counted() { return ranks_.executor(0).job_counters().methods().at(0); }

  Ranks ranks_{1};
};

TEST_F(ToldCalls, ReportTheirOwnValuesOfMoreThanADozenMeasures) {
  for (double base : {100.0, 7.0}) {
    const Report report = run(base);
    ASSERT_EQ(report.measures.cells().size(), 16u);
    EXPECT_EQ(report.measures.value(told_rows[0]), 2) << "parts, by the plan";
    for (std::size_t i = 1; i < told_measures; ++i) {
      const double first = base + static_cast<double>(i);
      const double expected[] = {2 * first + 10, first + 10, first + 10, first + 5};
      EXPECT_EQ(report.measures.value(told_rows[i]), expected[i % 4]) << "measure " << i << " from " << base;
    }
  }
}

TEST_F(ToldCalls, AddUpInCountersAsTheTableSays) {
  for (double base : {100.0, 7.0, 40.0}) run(base);
  const MethodCounters all = counted();
  EXPECT_EQ(all.calls, 3u);
  EXPECT_EQ(all.measures.value(told_rows[0]), 6) << "parts, by the plan";
  for (std::size_t i = 1; i < told_measures; ++i) {
    const auto n = static_cast<double>(i);
    const double expected[] = {2 * (147 + 3 * n) + 30, 110 + n, 50 + n, 49 + n + 5};
    EXPECT_EQ(all.measures.value(told_rows[i]), expected[i % 4]) << "measure " << i;
    EXPECT_EQ(all.measures.times(told_rows[i]), 3u);
  }
}

TEST_F(ToldCalls, BeginTheLargestAndTheLastValueAnewWhereTheCountersAreRestarted) {
  run(100);
  ranks_.executor(0).restart_measures();
  const MethodCounters restarted = counted();
  EXPECT_EQ(restarted.measures.value(told_rows[1]), 0) << "the largest";
  EXPECT_EQ(restarted.measures.value(told_rows[2]), 0) << "the last";
  run(7);
  const MethodCounters all = counted();
  EXPECT_EQ(all.measures.value(told_rows[4]), 2 * (107 + 8) + 20) << "the sum";
  EXPECT_EQ(all.measures.value(told_rows[1]), 18) << "the largest";
  EXPECT_EQ(all.measures.value(told_rows[2]), 19) << "the last";
  EXPECT_EQ(all.measures.value(told_rows[3]), (108 + 15) / 2.0) << "the mean";
}

TEST_F(ToldCalls, OfAMethodWithoutMeasuresReportNone) {
  const Report report = run(100, untold_method);
  EXPECT_EQ(report.method, &untold_method);
  EXPECT_TRUE(report.measures.cells().empty());
  EXPECT_EQ(report.measures.value(told_rows[1]), 0);
  EXPECT_TRUE(counted().measures.cells().empty());
  EXPECT_EQ(counted().calls, 1u);
}

TEST_F(ToldCalls, DoNotChangeTheTextsOfEarlierCallsWithFewerMeasures) {
  auto& communicator = ranks_.communicator(0);
  const std::uint32_t first = communicator.runs().next();
  std::vector<float> data(10, 1.0f), sums(10);
  std::vector<std::string> before;
  for (std::size_t k : {3u, 4u, 5u}) {
    Call selects = allreduce_call(data, sums, "sparse_allgather");
    selects.options.method = topk({.k = k, .feedback = false});
    EXPECT_TRUE(communicator.finish(must_post(ranks_, 0, selects)));
    before.push_back(communicator.runs().posted(communicator.runs().next() - 1)->text);
    EXPECT_NE(before.back().find(fmt::format(" (entries_asked {})", k)), std::string::npos) << before.back();
  }
  run(100);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(communicator.runs().posted(first + i)->text, before[i]);
  EXPECT_NE(communicator.runs().posted(first + 3)->text.find(" (a 2)"), std::string::npos)
      << communicator.runs().posted(first + 3)->text;
}

}  // namespace
}  // namespace lacuna::test
