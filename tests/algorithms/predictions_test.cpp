#include "algorithms/phases/predictions.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace lacuna {
namespace {

const Call call{.collective = Collective::Allreduce};
const PartPlan plan;

TEST(Predictions, KnowTheBlocksWithEntriesAtPlacesThatEachRankHasDrawn) {
  const ExpectedPart part{.call = call, .plan = plan, .size = 8, .places = 1001, .entries = 20};
  const double one = 20.0 / 1001;
  for (double ranks : {1.0, 2.0, 8.0}) {
    EXPECT_NEAR(part.entries_of(ranks), 1001 * (1 - std::pow(1 - one, ranks)), 1e-9);
    EXPECT_NEAR(part.blocks_of(ranks, 1), part.entries_of(ranks), 1e-9);
    EXPECT_NEAR(part.blocks_of(ranks, 10), 101 * (1 - std::pow(1 - one, 10 * ranks)), 1e-9) << "the last is shorter";
  }
}

TEST(Predictions, KnowTheBlocksOfEntriesThatGrowWithAPowerOfTheRanks) {
  const ExpectedPart part{
      .call = call, .plan = plan, .size = 8, .places = 1000, .entries = 20, .spread = spread_by_growth(0.5)};
  EXPECT_NEAR(part.entries_of(4), 40, 1e-9);
  EXPECT_NEAR(part.blocks_of(4, 10), 100 * (1 - std::pow(0.96, 10)), 1e-9);
  EXPECT_NEAR(part.entries_of(1e6), 1000, 1e-9) << "there are no more places";
}

TEST(Predictions, OfNoPlacesAreNothing) {
  const ExpectedPart part{.call = call, .plan = plan, .size = 8, .places = 0, .entries = 0};
  EXPECT_EQ(part.entries_of(8), 0);
  EXPECT_EQ(part.blocks_of(8, 16), 0);
}

}  // namespace
}  // namespace lacuna
