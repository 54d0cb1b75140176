#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/backend.hpp"
#include "tests/kernels/block.hpp"
#include "tests/kernels/selection.hpp"

namespace lacuna::test {
namespace {

constexpr std::array<std::size_t, 8> counts = {0, 1, 15, 16, 17, 2047, 2049, 5003};

std::uint64_t draw_small_integer(Dtype dtype, std::size_t, std::size_t, Random& random) {
  return oracle::encode(dtype, static_cast<double>(random() % 17) - 8);
}

class FeedBack : public ::testing::TestWithParam<Dtype> {
 protected:
  Dtype dtype() const { return GetParam(); }
  std::uint64_t plus(std::uint64_t a, std::uint64_t b) const {
    return oracle::reduce(dtype(), Reduction::Sum, {}, a, b);
  }
  std::uint64_t times(double factor, std::uint64_t a) const {
    return oracle::scaled(dtype(), oracle::decode(dtype(), a), {.multiplier = factor});
  }

  /// Computes sums and products with the oracle, and rounds each to the dtype. The factors must have exact products.
  void expect(const kernels::FeedBack& by, Draw draw, bool has_velocity) {
    for (std::size_t count : counts) {
      for (std::size_t offset : {0u, 1u, 6u}) {
        const Elements input = drawn(draw, dtype(), count);
        Elements residual = drawn(draw_few_values, dtype(), count), velocity = drawn(draw, dtype(), count);
        std::reverse(velocity.begin(), velocity.end());
        Block inputs = block_of(dtype(), input, offset), residuals = block_of(dtype(), residual, offset),
              velocities = block_of(dtype(), velocity, offset);
        tested().feed_back(by, {dtype(), residuals.data(), count}, has_velocity ? velocities.data() : nullptr,
                           inputs.data());
        for (std::size_t i = 0; i < count; ++i) {
          std::uint64_t added = times(by.second, times(by.factor, input[i]));
          if (has_velocity) added = velocity[i] = plus(times(by.momentum, velocity[i]), added);
          residual[i] = plus(residual[i], added);
          ASSERT_TRUE(oracle::same(dtype(), element(dtype(), residuals.data(), i), residual[i]))
              << i << " of " << count;
          ASSERT_TRUE(oracle::same(dtype(), element(dtype(), velocities.data(), i), velocity[i])) << i;
        }
        ASSERT_TRUE(residuals.guards_hold() && velocities.guards_hold());
      }
    }
  }
};

TEST_P(FeedBack, TheResidualAddsTheInput) { expect({}, draw_bits, false); }

TEST_P(FeedBack, TheInputIsMultipliedByTheFactor) { expect({.factor = 0.5}, draw_small_integer, false); }

TEST_P(FeedBack, TheInputIsMultipliedByBothFactors) {
  expect({.factor = 0.5, .second = 0.25}, draw_small_integer, false);
  expect({.factor = 0.5, .second = 0.25, .momentum = 1}, draw_small_integer, true);
}

/// The type can hold each product with the input, but not the product of the factors.
TEST_P(FeedBack, FactorsWhoseProductIsBelowAllNumbersScaleALargeInput) {
  const int exponent = dtype() == Dtype::F64 ? 600 : dtype() == Dtype::F16 ? 12 : 90;
  const double small = std::ldexp(1, -exponent);
  Elements input(100, oracle::encode(dtype(), 1 / small)), residual(100, 0);
  Block inputs = block_of(dtype(), input, 0), residuals = block_of(dtype(), residual, 0);
  tested().feed_back({.factor = small, .second = small}, {dtype(), residuals.data(), 100}, nullptr, inputs.data());
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(oracle::decode(dtype(), element(dtype(), residuals.data(), i)), small) << i;
  }
}

TEST_P(FeedBack, WithAVelocityTheResidualAddsThatRounded) { expect({.momentum = 1}, draw_bits, true); }

TEST_P(FeedBack, TheVelocityIsMultipliedByTheMomentum) {
  expect({.factor = 0.25, .momentum = 0.5}, draw_small_integer, true);
}

TEST_P(FeedBack, AMomentumOfZeroForgetsTheVelocity) { expect({.momentum = 0}, draw_small_integer, true); }

class SumOfPowers : public FeedBack {
 protected:
  double sum(const Elements& elements, int power = 2, std::size_t offset = 0, double scale = 1) {
    Block block = block_of(dtype(), elements, offset);
    double result = -1;
    tested().sum_of_powers({dtype(), block.data(), elements.size()}, power, scale, &result);
    return result;
  }
};

TEST_P(SumOfPowers, IsExactForIntegers) {
  for (std::size_t count : counts) {
    const Elements elements = drawn(draw_small_integer, dtype(), count);
    for (int power : {1, 2}) {
      double expected = 0;
      for (std::uint64_t bits : elements) expected += std::pow(oracle::decode(dtype(), bits), power);
      EXPECT_EQ(sum(elements, power), expected) << count << " to the power " << power;
    }
  }
}

TEST_P(SumOfPowers, ScalesEachElementBeforeItIsSquared) {
  const Elements elements = {oracle::encode(dtype(), 3), oracle::encode(dtype(), -4)};
  EXPECT_EQ(sum(elements, 2, 0, 0x1p-400), 25 * 0x1p-800);
  EXPECT_EQ(sum(elements, 1, 0, 0x1p-400), -0x1p-400);
  if (dtype() != Dtype::F64) return;
  const Elements large = {oracle::encode(dtype(), 3 * 0x1p1000), oracle::encode(dtype(), -4 * 0x1p1000)};
  EXPECT_EQ(sum(large), HUGE_VAL);
  EXPECT_EQ(sum(large, 2, 0, 0x1p-600), 25 * 0x1p800);
}

TEST_P(SumOfPowers, HasTheSameBitsAtAnyAddress) {
  for (std::size_t count : counts) {
    const Elements elements = drawn(draw_normal, dtype(), count);
    for (std::size_t offset : {1u, 3u, 6u}) EXPECT_EQ(sum(elements, 2, offset), sum(elements)) << count;
  }
}

TEST_P(SumOfPowers, IsAddedInF64) {
  Elements elements(3000, oracle::encode(dtype(), 1));
  elements[1] = oracle::encode(dtype(), 16384);
  EXPECT_EQ(sum(elements), 268435456.0 + 2999.0);
}

TEST_P(SumOfPowers, HidesNoNan) {
  for (std::size_t place : {0u, 15u, 2048u, 4999u}) {
    Elements elements = drawn(draw_uniform, dtype(), 5000);
    elements[place] = oracle::encode(dtype(), std::nan(""));
    EXPECT_TRUE(std::isnan(sum(elements))) << place;
  }
}

INSTANTIATE_TEST_SUITE_P(All, FeedBack, ::testing::ValuesIn(float_dtypes),
                         [](const auto& i) { return name_of_dtype(i); });
INSTANTIATE_TEST_SUITE_P(All, SumOfPowers, ::testing::ValuesIn(float_dtypes),
                         [](const auto& i) { return name_of_dtype(i); });

}  // namespace
}  // namespace lacuna::test
