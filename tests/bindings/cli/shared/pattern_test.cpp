#include "bindings/cli/shared/pattern.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

namespace lacuna::cli {
namespace {

constexpr std::size_t elements = 1 << 17;

Pattern pattern(const std::string& text, double density, std::size_t count = elements) {
  auto options = pattern_options(text);
  EXPECT_TRUE(options) << options.status().to_string();
  options->density = density;
  return Pattern(*options, count);
}

std::vector<bool> places(const Pattern& pattern, Rank rank, std::size_t count = elements) {
  std::vector<bool> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = pattern.has(rank, i);
  return all;
}

double count_of(const std::vector<bool>& places) {
  return static_cast<double>(std::count(places.begin(), places.end(), true));
}

/// Returns how many places the first that many ranks have together.
double union_of(const Pattern& pattern, Rank ranks) {
  std::vector<bool> all(elements);
  for (Rank rank = 0; rank < ranks; ++rank) {
    for (std::size_t i = 0; i < elements; ++i) all[i] = all[i] || pattern.has(rank, i);
  }
  return count_of(all);
}

/// Returns the share of blocks of that length that hold a place of any of the first ranks.
double share_of_blocks(const Pattern& pattern, Rank ranks, std::size_t block) {
  double held = 0, blocks = 0;
  for (std::size_t begin = 0; begin < elements; begin += block, ++blocks) {
    bool any = false;
    for (std::size_t i = begin; i < std::min(begin + block, elements) && !any; ++i) {
      for (Rank rank = 0; rank < ranks && !any; ++rank) any = pattern.has(rank, i);
    }
    held += any;
  }
  return held / blocks;
}

/// Expects a result within five standard deviations of what that many fair draws give.
void expect_drawn(double got, double draws, double chance, const std::string& what) {
  EXPECT_NEAR(got, draws * chance, 5 * std::sqrt(draws * chance * (1 - chance)) + 1) << what;
}

TEST(PerfPattern, EveryRankHasTheDensityThatWasAskedFor) {
  for (const char* text : {"uniform", "overlap", "clustered", "powerlaw:0.75", "powerlaw:1", "skewed"}) {
    for (double density : {0.001, 0.01, 0.1, 0.5, 0.9}) {
      for (Rank rank : {0, 7}) {
        const double got = count_of(places(pattern(text, density), rank));
        expect_drawn(got, elements, density, std::string(text) + " " + std::to_string(density));
      }
    }
    EXPECT_EQ(count_of(places(pattern(text, 1), 3)), elements) << text;
  }
  const double blocks = count_of(places(pattern("blocks:32", 0.1), 2)) / 32;
  expect_drawn(blocks, elements / 32, 0.1, "blocks");
}

TEST(PerfPattern, UniformRanksAreIndependent) {
  const Pattern uniform = pattern("uniform", 0.05);
  for (Rank ranks : {2, 8, 16}) {
    expect_drawn(union_of(uniform, ranks), elements, 1 - std::pow(0.95, ranks), std::to_string(ranks));
  }
}

TEST(PerfPattern, OverlappingAndClusteredRanksHaveTheSamePlaces) {
  for (const char* text : {"overlap", "clustered"}) {
    EXPECT_EQ(places(pattern(text, 0.03), 0), places(pattern(text, 0.03), 5)) << text;
  }
}

TEST(PerfPattern, ClusteredPlacesAreOneStretch) {
  const std::vector<bool> all = places(pattern("clustered", 0.03), 1);
  int edges = 0;
  for (std::size_t i = 1; i < all.size(); ++i) edges += all[i] != all[i - 1];
  EXPECT_EQ(edges, 2);
}

TEST(PerfPattern, APowerLawsUnionGrowsWithThatPowerOfTheRanks) {
  for (const auto& [text, exponent] :
       {std::pair("powerlaw:0.5", 0.5), {"powerlaw:0.75", 0.75}, {"powerlaw:0.9", 0.9}}) {
    const Pattern law = pattern(text, 0.01);
    const double one = union_of(law, 1);
    for (Rank ranks : {2, 4, 8, 16}) {
      const double grown = std::pow(ranks, exponent);
      EXPECT_NEAR(union_of(law, ranks) / one / grown, 1, 0.06) << text << " " << ranks << " ranks";
    }
  }
}

TEST(PerfPattern, BlocksAreWholeAndOfEachRankItsOwn) {
  const std::vector<bool> mine = places(pattern("blocks:48", 0.2), 0), theirs = places(pattern("blocks:48", 0.2), 1);
  for (std::size_t i = 0; i < elements; ++i) ASSERT_EQ(mine[i], mine[i / 48 * 48]) << i;
  EXPECT_NE(mine, theirs);
}

TEST(PerfPattern, RowsAreWholeAndHaveTheDensityThatWasAskedFor) {
  for (double density : {0.001, 0.01, 0.1, 0.5, 0.9}) {
    const std::vector<bool> mine = places(pattern("rows:16", density), 2);
    for (std::size_t i = 0; i < elements; ++i) ASSERT_EQ(mine[i], mine[i / 16 * 16]) << i;
    expect_drawn(count_of(mine) / 16, elements / 16, density, "rows of density " + std::to_string(density));
  }
  EXPECT_EQ(count_of(places(pattern("rows:16", 1), 3)), elements);
}

TEST(PerfPattern, RowsAreTouchedLessOftenByZipfsLaw) {
  constexpr Rank ranks = 4000;
  const Pattern rows = pattern("rows:8", 0.01);
  std::vector<double> expected;  // the mean number of look-ups of a row, from how often it was touched
  for (std::size_t row : {16, 32, 64, 128, 256}) {
    int touched = 0;
    for (Rank rank = 0; rank < ranks; ++rank) touched += rows.has(rank, 8 * row);
    expected.push_back(-std::log1p(-touched / static_cast<double>(ranks)) * static_cast<double>(row + 1));
  }
  for (double one : expected) EXPECT_NEAR(one / expected[0], 1, 0.12);
}

TEST(PerfPattern, RanksShareFrequentRows) {
  const Pattern rows = pattern("rows:16", 0.02), blocks = pattern("blocks:16", 0.02);
  EXPECT_LT(union_of(rows, 8), 0.8 * union_of(blocks, 8));
  EXPECT_GT(union_of(rows, 8), 2 * union_of(rows, 1)) << "but they have rare rows of their own";
  const std::vector<bool> mine = places(rows, 3);
  EXPECT_GT(count_of({mine.begin(), mine.begin() + elements / 8}), 0.4 * count_of(mine)) << "which come first";
}

TEST(PerfPattern, TheShareOfBlocksIsThatOfTheDrawnPlaces) {
  const double tolerance = 0.04;
  for (const char* text : {"uniform", "overlap", "clustered", "blocks:16", "blocks:48", "blocks:1024", "rows:8",
                           "rows:48", "rows:256", "skewed", "gradient"}) {
    for (double density : {0.005, 0.1}) {
      const Pattern drawn = pattern(text, density);
      for (Rank ranks : {1, 4, 8}) {
        for (std::size_t block : {1, 16, 64, 256}) {
          const double got = share_of_blocks(drawn, ranks, block), share = drawn.share(ranks, block);
          const double run = std::string_view(text).ends_with("1024") ? 1024 : 256;
          const double blocks = elements / std::max(run, static_cast<double>(block));
          EXPECT_NEAR(got, share, tolerance * share + 4 * std::sqrt(share * (1 - share) / blocks))
              << text << " of density " << density << ", " << ranks << " ranks, blocks of " << block;
        }
      }
    }
    EXPECT_EQ(pattern(text, 1).share(2, 64), 1) << text;
  }
}

TEST(PerfPattern, OfBlocksTheUnionOfIndependentRanksGrowsAsTheirDrawsSay) {
  for (double density : {0.6, 0.4, 0.2, 0.1, 0.04, 0.02, 0.01}) {
    const Pattern blocks = pattern("blocks:256", density, 100 << 20);
    for (Rank ranks : {1, 2, 8}) {
      const double drawn = 1 - std::pow(1 - density, ranks);
      EXPECT_NEAR(blocks.share(ranks, 256), drawn, 1e-12) << density;
      EXPECT_NEAR(blocks.share(ranks, 64), drawn, 1e-12) << "smaller blocks lie in one each";
      EXPECT_NEAR(blocks.share(ranks, 512), 1 - std::pow(1 - drawn, 2), 1e-12) << "larger ones cover two";
      EXPECT_NEAR(blocks.share(ranks, 192), (drawn + 1 - std::pow(1 - drawn, 2)) / 2, 1e-12) << "half cover two";
    }
  }
}

TEST(PerfPattern, OfASkewedOneThreeFifthsLieInAnEighth) {
  const std::vector<bool> all = places(pattern("skewed", 0.02), 4);
  const double close = count_of({all.begin(), all.begin() + elements / 8});
  expect_drawn(close, count_of(all), 0.6, "in the first eighth");
}

TEST(PerfPattern, GradientsHaveMagnitudesThatFallOffAroundScalesThatRanksShare) {
  const Pattern gradient = pattern("gradient", 1);
  std::vector<double> all, of_stretches(elements / 4096), of_others = of_stretches;
  double sum = 0;
  for (std::size_t i = 0; i < elements; ++i) {
    const double value = gradient.value(1, i), other = gradient.value(2, i);
    ASSERT_TRUE(value == std::round(value) && std::abs(value) >= 1 && std::abs(value) <= 4095);
    all.push_back(std::abs(value));
    sum += value;
    of_stretches[i / 4096] += std::abs(value);
    of_others[i / 4096] += std::abs(other);
  }
  std::sort(all.rbegin(), all.rend());
  EXPECT_GT(all[elements / 100], 5 * all[elements / 2]);
  EXPECT_LT(std::count(all.begin(), all.end(), all[elements / 100]), static_cast<long>(elements / 100 / 20));
  EXPECT_LT(std::abs(sum), 5 * 600 * std::sqrt(static_cast<double>(elements))) << "both signs are as likely";
  const auto [least, most] = std::minmax_element(of_stretches.begin(), of_stretches.end());
  EXPECT_GT(*most, 3 * *least);
  for (std::size_t i = 0; i < of_stretches.size(); ++i) {
    EXPECT_NEAR(of_stretches[i] / of_others[i], 1, 0.15) << "rank 2 has the same scales";
  }
}

TEST(PerfPattern, FewElementsAreAsGood) {
  for (const char* text :
       {"uniform", "overlap", "clustered", "powerlaw:0.75", "blocks:8", "rows:2", "rows:8", "skewed"}) {
    for (std::size_t count : {0, 1, 5}) {
      const Pattern few = pattern(text, 0.5, count);
      EXPECT_LE(count_of(places(few, 0, count)), count) << text;
      for (std::size_t block : {1, 3, 9}) {
        EXPECT_GE(few.share(2, block), 0) << text;
        EXPECT_LE(few.share(2, block), 1) << text;
      }
    }
  }
}

TEST(PerfPattern, OtherNamesAreRefused) {
  for (const char* text : {"", "even", "uniform:2", "powerlaw", "powerlaw:2", "powerlaw:0", "powerlaw:x",
                           "blocks:", "blocks:0", "blocks:1.5", "blocks:8x", "rows", "rows:0", "rows:2.5", "skewed:"}) {
    const auto options = pattern_options(text);
    ASSERT_FALSE(options) << text;
    EXPECT_NE(options.status().message().find("must be uniform, overlap"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace lacuna::cli
