#include "examples/workloads/embeddings/clicks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "examples/workloads/embeddings/click_model.hpp"
#include "examples/workloads/embeddings/click_scores.hpp"
#include "examples/workloads/fashion_mnist/random.hpp"
#include "tests/examples/numeric_clicks.hpp"

namespace lacuna::workloads {
namespace {

const std::vector<std::size_t> vocabularies = {300, 40, 1, 7};

TEST(Clicks, AreTheSameWhoeverMakesThem) {
  const Clicks all = ClickSource(vocabularies, 5).make(100, 60), some = ClickSource(vocabularies, 5).make(130, 10);
  for (std::size_t i = 0; i < some.count(); ++i) {
    EXPECT_TRUE(std::ranges::equal(some.sample(i), all.sample(30 + i))) << i;
    EXPECT_EQ(some.labels[i], all.labels[30 + i]) << i;
  }
  EXPECT_NE(ClickSource(vocabularies, 6).make(100, 60).rows, all.rows);
  EXPECT_NE(ClickSource(vocabularies, 5).make(101, 60).rows, all.rows);
}

TEST(Clicks, HaveACategoryOfEachFieldByZipfsLaw) {
  constexpr std::size_t count = 40000;
  const ClickSource source(vocabularies, 1);
  EXPECT_EQ(source.rows(), 348u);
  const Clicks clicks = source.make(0, count);
  std::vector<double> times(source.rows());
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t first = 0;
    for (std::size_t field = 0; field < vocabularies.size(); ++field) {
      const std::size_t row = clicks.sample(i)[field];
      ASSERT_TRUE(row >= first && row < first + vocabularies[field]) << field;
      ++times[row];
      first += vocabularies[field];
    }
  }
  std::size_t first = 0;
  for (const std::size_t size : vocabularies) {
    double all = 0;
    for (std::size_t i = 0; i < size; ++i) all += 1 / (static_cast<double>(i) + 1);
    for (std::size_t i = 0; i < size; ++i) {
      const double expected = count / all / (static_cast<double>(i) + 1);
      EXPECT_NEAR(times[first + i], expected, 5 * std::sqrt(expected)) << i << " of " << size;
    }
    first += size;
  }
}

TEST(Clicks, AreDrawnByTheirLogOdds) {
  constexpr std::size_t count = 40000, bins = 8;
  const ClickSource source(vocabularies, 1);
  const Clicks clicks = source.make(0, count);
  std::vector<double> expected(bins), clicked(bins), variance(bins);
  for (std::size_t i = 0; i < count; ++i) {
    const double chance = 1 / (1 + std::exp(-source.log_odds(clicks.sample(i))));
    const auto bin = static_cast<std::size_t>(chance * bins);
    expected[bin] += chance;
    clicked[bin] += clicks.labels[i];
    variance[bin] += chance * (1 - chance);
  }
  for (std::size_t bin = 0; bin < bins; ++bin) {
    EXPECT_NEAR(clicked[bin], expected[bin], 5 * std::sqrt(variance[bin]) + 1) << bin;
    EXPECT_GT(expected[bin], 0) << "odds differ";
  }
}

TEST(Clicks, HaveTheProductsOfEachTwoVectorsInTheirLogOdds) {
  const ClickSource source({2, 2, 2}, 3);
  const auto odds = [&](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    return source.log_odds(std::vector<std::uint32_t>{a, 2 + b, 4 + c});
  };
  // Weights cancel in such differences of differences, and products do not.
  const double of_two = odds(1, 1, 0) - odds(1, 0, 0) - odds(0, 1, 0) + odds(0, 0, 0);
  const double with_third = odds(1, 1, 1) - odds(1, 0, 1) - odds(0, 1, 1) + odds(0, 0, 1);
  EXPECT_GT(std::abs(of_two), 1e-3);
  EXPECT_NEAR(of_two, with_third, 1e-12) << "there are products of two, and none of three";
}

TEST(ClickScores, AreThoseOfAllPairs) {
  SplitMix random(4, 0);
  for (std::size_t count : {1u, 2u, 5u, 40u, 200u}) {
    std::vector<float> odds;
    std::vector<std::uint8_t> labels;
    for (std::size_t i = 0; i < count; ++i) {
      odds.push_back(static_cast<float>(random.below(9)) - 4);  // many are equal
      labels.push_back(static_cast<std::uint8_t>(random.below(2)));
    }
    double pairs = 0, ordered = 0, right = 0, loss = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const double chance = 1 / (1 + std::exp(-static_cast<double>(odds[i])));
      loss -= std::log(labels[i] == 1 ? chance : 1 - chance) / static_cast<double>(count);
      right += (chance > 0.5) == (labels[i] == 1);
      for (std::size_t j = 0; j < count; ++j) {
        if (labels[i] != 1 || labels[j] != 0) continue;
        ++pairs;
        ordered += odds[i] > odds[j] ? 1 : odds[i] < odds[j] ? 0 : 0.5;
      }
    }
    const ClickScores scores = click_scores(odds, labels);
    EXPECT_NEAR(scores.auc, pairs > 0 ? ordered / pairs : 0.5, 1e-12) << count;
    EXPECT_NEAR(scores.log_loss, loss, 1e-9) << count;
    EXPECT_NEAR(scores.accuracy, right / static_cast<double>(count), 1e-12) << count;
  }
}

TEST(ClickScores, OfLargeLogOddsAreFinite) {
  EXPECT_NEAR(log_loss(500, 0), 500, 1e-9);
  EXPECT_NEAR(log_loss(-500, 0), 0, 1e-9);
  EXPECT_NEAR(log_loss(-500, 1), 500, 1e-9);
}

class ClickModels : public testing::TestWithParam<std::vector<std::size_t>> {};
INSTANTIATE_TEST_SUITE_P(Hidden, ClickModels,
                         testing::Values(std::vector<std::size_t>{}, std::vector<std::size_t>{5},
                                         std::vector<std::size_t>{6, 3}));

TEST_P(ClickModels, HaveTheLogOddsAndGradientsOfTheirDefinition) {
  const ClickModelShape shape{.fields = 3, .rows = 9, .width = 4, .hidden = GetParam()};
  constexpr std::size_t samples = 7;
  const std::vector<std::uint8_t> labels = {1, 0, 0, 1, 1, 0, 1};
  std::vector<std::uint32_t> rows;
  SplitMix random(2, 0);
  for (std::size_t i = 0; i < samples; ++i) {
    for (std::uint32_t field = 0; field < 3; ++field) {
      rows.push_back(3 * field + static_cast<std::uint32_t>(random.below(field == 2 ? 2 : 3)));
    }
  }
  ClickModel model(shape, samples);
  model.initialise(7);
  for (float& number : model.table()) number = random.signed_unit();
  for (float& number : model.perceptron().parameters()) number += 0.1F * random.signed_unit();
  NumericClicks definition(shape);
  definition.table.assign(model.table().begin(), model.table().end());
  definition.perceptron.assign(model.perceptron().parameters().begin(), model.perceptron().parameters().end());

  const std::span<const float> odds = model.forward(rows);
  for (std::size_t i = 0; i < samples; ++i) {
    EXPECT_NEAR(odds[i], definition.log_odds(std::span(rows).subspan(3 * i, 3)), 1e-5) << i;
  }
  model.perceptron_gradient(labels);
  model.table_gradient();
  const std::vector<double> table = definition.gradient(definition.table, rows, labels);
  for (std::size_t i = 0; i < table.size(); ++i) EXPECT_NEAR(model.gradient()[i], table[i], 1e-5) << "table " << i;
  const std::vector<double> weights = definition.gradient(definition.perceptron, rows, labels);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    EXPECT_NEAR(model.perceptron().gradient()[i], weights[i], 1e-5) << "perceptron " << i;
  }
  std::vector<std::uint8_t> touched(9);
  for (const std::uint32_t row : rows) touched[row] = 1;
  EXPECT_EQ(model.touched(), touched);
  EXPECT_EQ(touched[8], 0) << "no sample has the last row";
}

}  // namespace
}  // namespace lacuna::workloads
