#include "bindings/cli/perf/timing.hpp"

#include <gtest/gtest.h>

namespace lacuna::cli {
namespace {

TEST(PerfTiming, ASummaryIsTheMedianAndTheSpreadAroundIt) {
  EXPECT_EQ(summary_of({7}).seconds, 7);
  EXPECT_EQ(summary_of({7}).spread, 0);
  EXPECT_EQ(summary_of({9, 1, 2}).seconds, 2);
  EXPECT_EQ(summary_of({9, 1, 2}).spread, 4);
  EXPECT_EQ(summary_of({4, 1, 3, 2}).seconds, 2.5);
  EXPECT_EQ(summary_of({0, 0}).spread, 0);
}

}  // namespace
}  // namespace lacuna::cli
