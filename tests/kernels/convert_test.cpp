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

constexpr std::array<std::size_t, 6> counts = {0, 1, 15, 17, 2049, 5003};

/// Numbers at and beside the borders at which rounding to 16 bits turns round, and where it would turn round wrongly if
/// it were done twice.
std::uint64_t draw_ties(Dtype dtype, std::size_t, std::size_t, Random& random) {
  const double units = static_cast<double>(random() % 4096) + (random() % 2 == 0 ? 0.5 : 0.25);
  const int exponent = static_cast<int>(random() % 60) - 40;
  const double beside = random() % 3 == 0 ? 0 : std::ldexp(random() % 2 == 0 ? 1.0 : -1.0, -40);
  return oracle::encode(dtype, std::ldexp(units + beside, exponent - 8));
}

/// Large and small numbers of f64 that shorter types do not have.
std::uint64_t draw_extremes(Dtype dtype, std::size_t, std::size_t, Random& random) {
  const double number = between(1, 2, random) * (random() % 2 == 0 ? 1 : -1);
  const int exponents[] = {14,  15,  16,  126,  127,  128,  900,  -14,  -15,
                           -24, -25, -26, -126, -133, -134, -149, -150, -1000};
  return oracle::encode(dtype, std::ldexp(number, exponents[random() % std::size(exponents)]));
}

constexpr Draw draws[] = {draw_uniform, draw_normal, draw_denormal, draw_bits, draw_ties, draw_extremes};

class Convert : public ::testing::TestWithParam<Dtype> {};

TEST_P(Convert, GivesTheNearestElementAndTheEvenOneOfTwo) {
  const Dtype from = GetParam();
  for (Dtype to : float_dtypes) {
    for (Draw draw : draws) {
      for (std::size_t count : counts) {
        const Elements given = drawn(draw, from, count);
        Block input = block_of(from, given, 1), output(count * size_of(to), 3);
        tested().convert({from, input.data(), count}, {to, output.data(), count}, nullptr);
        for (std::size_t i = 0; i < count; ++i) {
          const std::uint64_t expected = oracle::encode(to, oracle::decode(from, given[i]));
          ASSERT_TRUE(oracle::same(to, element(to, output.data(), i), expected))
              << oracle::decode(from, given[i]) << " to " << to_string(to) << " gives "
              << oracle::decode(to, element(to, output.data(), i)) << ", not " << oracle::decode(to, expected);
          ASSERT_EQ(element(from, input.data(), i), given[i]);
        }
        ASSERT_TRUE(output.guards_hold() && input.guards_hold());
      }
    }
  }
}

/// The rest of a number of f32 or f64 is exact, because a rounding error has no more digits than the number.
TEST_P(Convert, TheRestIsWhatWasRoundedOffAndNeverAnInfinityOrANan) {
  const Dtype from = GetParam();
  for (Dtype to : float_dtypes) {
    for (Draw draw : draws) {
      for (bool in_place : {false, true}) {
        const std::size_t count = 2049;
        const Elements given = drawn(draw, from, count);
        Block input = block_of(from, given, 1), output(count * size_of(to), 3), other(count * size_of(from), 2);
        Block& rest = in_place ? input : other;
        tested().convert({from, input.data(), count}, {to, output.data(), count}, rest.data());
        for (std::size_t i = 0; i < count; ++i) {
          const double number = oracle::decode(from, given[i]);
          const double there = oracle::decode(to, element(to, output.data(), i));
          const double expected = std::isfinite(number) && std::isfinite(there) ? number - there : 0;
          ASSERT_EQ(oracle::decode(from, element(from, rest.data(), i)), expected) << number << " to " << to_string(to);
        }
        ASSERT_TRUE(rest.guards_hold() && output.guards_hold());
      }
    }
  }
}

TEST_P(Convert, AccumulatedTermsHaveTheBitsOfAReductionOfTheirNumbers) {
  const Dtype dtype = GetParam();
  for (Dtype term : float_dtypes) {
    if (size_of(term) >= size_of(dtype)) continue;
    for (Draw draw : {draw_uniform, draw_few_values, draw_bits}) {
      for (Reduction reduction : {Reduction::Sum, Reduction::Avg, Reduction::Min, Reduction::Max, Reduction::Prod}) {
        for (std::size_t count : counts) {
          const Elements sums = drawn(draw, dtype, count), terms = drawn(draw, term, count);
          Block sum = block_of(dtype, sums, 1), other = block_of(term, terms, 3);
          const bool adds = reduction == Reduction::Sum || reduction == Reduction::Avg;
          const SumScale scale = count % 2 == 0 ? SumScale() : SumScale{0.25, 0.25, {.divisor = 0.75}};
          tested().accumulate(reduction, scale, {dtype, sum.data(), count}, {term, other.data(), count});
          for (std::size_t i = 0; i < count; ++i) {
            const std::uint64_t widened = oracle::encode(dtype, oracle::decode(term, terms[i]));
            const std::uint64_t expected =
                oracle::reduce(dtype, reduction, adds ? scale : SumScale(), sums[i], widened);
            ASSERT_TRUE(oracle::same(dtype, element(dtype, sum.data(), i), expected)) << to_string(reduction) << i;
          }
          ASSERT_TRUE(sum.guards_hold() && other.guards_hold());
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Convert, ::testing::ValuesIn(float_dtypes),
                         [](const auto& i) { return name_of_dtype(i); });

}  // namespace
}  // namespace lacuna::test
