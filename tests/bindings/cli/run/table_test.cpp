#include "bindings/cli/run/table.hpp"

#include <gtest/gtest.h>

#include "tests/bindings/cli/run/results_fixture.hpp"

namespace lacuna::cli {
namespace {

TEST(RunTable, ComparesFinishedMethodsWithTheDenseOne) {
  EXPECT_EQ(
      table_of(sample_results(1)),
      "method       epochs  test accuracy    time  waiting  share  payload per rank  time / dense  bytes / dense\n"
      "---------------------------------------------------------------------------------------------------------\n"
      "half, \"new\"    0.50        85.00 %  20.0 s    5.0 s   25 %           2.00 GB          0.50           0.50\n"
      "ring           0.50        87.50 %  40.0 s   30.0 s   75 %           4.00 GB          1.00           1.00\n");
}

TEST(RunTable, OfSeveralSeedsHasMeansAndDeviations) {
  EXPECT_EQ(
      table_of(sample_results(3)),
      "method       seeds  epochs   test accuracy          time       waiting  share  payload per rank  time / dense  "
      "bytes / dense\n"
      "----------------------------------------------------------------------------------------------------------"
      "------------------\n"
      "half, \"new\"      3    0.50  85.00 ± 8.50 %  20.0 ± 2.0 s   5.0 ± 0.5 s   25 %           2.00 GB          "
      "0.50           0.50\n"
      "ring             3    0.50  87.50 ± 8.75 %  40.0 ± 4.0 s  30.0 ± 3.0 s   75 %           4.00 GB          1.00  "
      "         1.00\n");
}

TEST(RunTable, OfNothingSaysSo) { EXPECT_EQ(table_of({}), "no method is finished\n"); }

TEST(RunTable, WithoutADenseMethodHasNoRatios) {
  checkpoint::RunResults results = sample_results(1);
  for (auto& method : results.methods) method.about = {};
  EXPECT_NE(table_of(results).find("4.00 GB             -              -\n"), std::string::npos) << table_of(results);
}

TEST(RunTable, PredictsFromComputingTimeAndBytes) {
  const std::string text = prediction_of(sample_results(1));
  EXPECT_NE(text.find("1 Gbit/s"), std::string::npos);
  EXPECT_NE(text.find("31.0 s"), std::string::npos) << "15 s of computing and 2 GB at 1 Gbit/s\n" << text;
}

}  // namespace
}  // namespace lacuna::cli
