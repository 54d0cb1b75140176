#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/backend.hpp"
#include "runtime/values/philox.hpp"
#include "tests/kernels/block.hpp"
#include "tests/kernels/selection.hpp"

namespace lacuna::test {
namespace {

using kernels::LevelsShape;
using kernels::RandomStream;

constexpr std::array<std::size_t, 8> counts = {0, 1, 3, 4, 63, 64, 65, 1031};
constexpr LevelsShape shapes[] = {{8, 64}, {4, 64}, {8, 4}, {4, 4}, {4, 12}, {8, 4096}};
constexpr Dtype dtypes[] = {Dtype::F32, Dtype::F64};
constexpr Draw draws[] = {draw_uniform, draw_normal, draw_few_values, draw_clustered, draw_denormal, draw_bits};
constexpr RandomStream stream = {.key = 0x1234567890abcdef, .draw = 0x100000007};

/// The exponent of the least spacing by which no element of a block needs more levels than there are. Nothing if there
/// is none, or if the block holds what is no number.
std::optional<int> exponent_of(const std::vector<double>& block, const LevelsShape& shape) {
  double largest = 0;
  for (double number : block) {
    if (!std::isfinite(number)) return std::nullopt;
    largest = std::max(largest, std::fabs(number));
  }
  int exponent = -126;
  while (std::ldexp(shape.most(), exponent) < largest) {
    if (++exponent > 126) return std::nullopt;
  }
  return exponent;
}

/// Random number i of the stream.
std::uint32_t random_of(const RandomStream& from, std::size_t i) {
  const std::array words = philox({static_cast<std::uint32_t>(from.draw), static_cast<std::uint32_t>(from.draw >> 32),
                                   static_cast<std::uint32_t>(i / 4), static_cast<std::uint32_t>(i / 4 >> 32)},
                                  {static_cast<std::uint32_t>(from.key), static_cast<std::uint32_t>(from.key >> 32)});
  return words[i % 4];
}

/// An array, its message, what the message has of it, and the rest.
struct Encoded {
  std::vector<double> given{}, there{}, rest{};
  Block message;
};

Encoded encoded(Dtype dtype, const Elements& elements, const LevelsShape& shape, const RandomStream& random = stream) {
  const std::size_t count = elements.size();
  Block from = block_of(dtype, elements, 1), to(count * size_of(dtype), 3), rest(count * size_of(dtype), 5);
  Encoded all{.message = Block(shape.message_bytes(count), 7)};
  tested().encode_levels(shape, random, {dtype, from.data(), count}, all.message.data(), rest.data());
  tested().decode_levels(shape, all.message.data(), 1, {dtype, to.data(), count}, false);
  EXPECT_TRUE(from.guards_hold() && to.guards_hold() && rest.guards_hold() && all.message.guards_hold());
  for (std::size_t i = 0; i < count; ++i) {
    all.given.push_back(oracle::decode(dtype, elements[i]));
    all.there.push_back(oracle::decode(dtype, element(dtype, to.data(), i)));
    all.rest.push_back(oracle::decode(dtype, element(dtype, rest.data(), i)));
  }
  return all;
}

/// Calls visit(numbers of a block, the place of its first element).
void each_block(const std::vector<double>& numbers, std::size_t length, const auto& visit) {
  for (std::size_t first = 0; first < numbers.size(); first += length) {
    const auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(first);
    const std::size_t here = std::min(length, numbers.size() - first);
    visit(std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(here)), first);
  }
}

TEST(Levels, AreRoundedUpWhereTheRandomNumberIsBelowTheFraction) {
  for (Dtype dtype : dtypes) {
    for (const LevelsShape& shape : shapes) {
      for (Draw draw : draws) {
        for (std::size_t count : counts) {
          const Encoded all = encoded(dtype, drawn(draw, dtype, count), shape);
          each_block(all.given, shape.block, [&](const std::vector<double>& block, std::size_t first) {
            const auto exponent = exponent_of(block, shape);
            for (std::size_t j = 0; j < block.size(); ++j) {
              const std::size_t i = first + j;
              if (!exponent) {
                ASSERT_TRUE(std::isnan(all.there[i])) << all.there[i];
                ASSERT_EQ(all.rest[i], 0);
                continue;
              }
              const double spacings = std::ldexp(block[j], -*exponent), below = std::floor(spacings);
              const double up = random_of(stream, i) < (spacings - below) * 0x1p32 ? 1 : 0;
              const double expected = std::ldexp(below + up, *exponent);
              const double in_type = dtype == Dtype::F32 ? static_cast<double>(static_cast<float>(expected)) : expected;
              ASSERT_EQ(all.there[i], in_type) << block[j] << " at " << i << " of " << count;
              if (dtype == Dtype::F64 || !std::isfinite(in_type)) continue;
              ASSERT_EQ(all.rest[i], static_cast<double>(static_cast<float>(block[j] - expected))) << block[j];
            }
          });
        }
      }
    }
  }
}

TEST(Levels, DifferFromTheElementByLessThanASpacing) {
  for (const LevelsShape& shape : shapes) {
    const Encoded all = encoded(Dtype::F32, drawn(draw_normal, Dtype::F32, 1031), shape);
    each_block(all.given, shape.block, [&](const std::vector<double>& block, std::size_t first) {
      const double spacing = std::ldexp(1, *exponent_of(block, shape));
      double largest = 0;
      for (double number : block) largest = std::max(largest, std::fabs(number));
      EXPECT_LT(spacing, 2 * largest / shape.most());
      for (std::size_t j = 0; j < block.size(); ++j) {
        ASSERT_LT(std::fabs(all.there[first + j] - block[j]), spacing);
        ASSERT_NEAR(all.there[first + j] + all.rest[first + j], block[j], spacing * 0x1p-25);
      }
    });
  }
}

/// Whole numbers that fit into the levels are exact, whatever is drawn.
TEST(Levels, HoldWholeNumbersExactly) {
  for (const LevelsShape& shape : shapes) {
    Elements elements;
    for (int number = -shape.most(); number <= shape.most(); ++number) {
      elements.push_back(oracle::encode(Dtype::F32, number));
    }
    const Encoded all = encoded(Dtype::F32, elements, shape);
    EXPECT_EQ(all.there, all.given);
    EXPECT_EQ(all.rest, std::vector<double>(elements.size()));
  }
}

/// Over 4096 draws the mean of an element is off by less than five times its deviation, which is at most half a
/// spacing.
TEST(Levels, HaveTheRightMean) {
  for (const LevelsShape& shape : {LevelsShape{8, 64}, LevelsShape{4, 64}}) {
    const Elements elements = drawn(draw_normal, Dtype::F32, 64);
    std::vector<double> sums(elements.size());
    constexpr int runs = 4096;
    Encoded all{.message = Block(0, 0)};
    for (int run = 0; run < runs; ++run) {
      all = encoded(Dtype::F32, elements, shape, {.key = 77, .draw = static_cast<std::uint64_t>(run)});
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += all.there[i];
    }
    const double spacing = std::ldexp(1, *exponent_of(all.given, shape));
    double squares = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const double off = (sums[i] / runs - all.given[i]) / spacing;
      EXPECT_LT(std::fabs(off), 5 * 0.5 / std::sqrt(runs)) << i;
      squares += off * off * runs;
    }
    EXPECT_LT(squares / static_cast<double>(sums.size()), 0.25) << "more than the variance of a rounding";
    EXPECT_GT(squares / static_cast<double>(sums.size()), 0.05) << "draws are not independent";
  }
}

TEST(Levels, AddToWhatIsThere) {
  for (Dtype dtype : dtypes) {
    for (const LevelsShape& shape : shapes) {
      for (std::size_t count : counts) {
        const Elements elements = drawn(draw_normal, dtype, count), sums = drawn(draw_uniform, dtype, count);
        Encoded all = encoded(dtype, elements, shape);
        for (double factor : {1.0, 0.125}) {
          Block sum = block_of(dtype, sums, 1);
          tested().decode_levels(shape, all.message.data(), factor, {dtype, sum.data(), count}, true);
          for (std::size_t i = 0; i < count; ++i) {
            const std::uint64_t expected =
                oracle::encode(dtype, oracle::decode(dtype, sums[i]) + factor * all.there[i]);
            ASSERT_EQ(element(dtype, sum.data(), i), expected);
          }
          ASSERT_TRUE(sum.guards_hold());
        }
      }
    }
  }
}

TEST(Levels, KeepTheRestInPlaceOfTheElements) {
  const LevelsShape shape{4, 8};
  const Elements elements = drawn(draw_normal, Dtype::F32, 101);
  Encoded all = encoded(Dtype::F32, elements, shape);
  Block given = block_of(Dtype::F32, elements, 2), message(shape.message_bytes(101), 1);
  tested().encode_levels(shape, stream, {Dtype::F32, given.data(), 101}, message.data(), given.data());
  for (std::size_t i = 0; i < 101; ++i) {
    EXPECT_EQ(oracle::decode(Dtype::F32, element(Dtype::F32, given.data(), i)), all.rest[i]);
  }
  EXPECT_EQ(elements_of(Dtype::U8, message.data(), shape.message_bytes(101)),
            elements_of(Dtype::U8, all.message.data(), shape.message_bytes(101)));
}

TEST(Levels, HaveAByteForEachBlockAndTheirBits) {
  EXPECT_EQ((LevelsShape{8, 64}).message_bytes(0), 0u);
  EXPECT_EQ((LevelsShape{8, 64}).message_bytes(64), 65u);
  EXPECT_EQ((LevelsShape{8, 64}).message_bytes(65), 67u);
  EXPECT_EQ((LevelsShape{4, 64}).message_bytes(64), 33u);
  EXPECT_EQ((LevelsShape{4, 64}).message_bytes(63), 33u);
  EXPECT_EQ((LevelsShape{4, 4}).message_bytes(9), 8u);
}

}  // namespace
}  // namespace lacuna::test
