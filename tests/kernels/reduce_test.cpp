#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/elements.hpp"
#include "tests/kernels/backends.hpp"
#include "tests/kernels/block.hpp"
#include "tests/kernels/oracle.hpp"

namespace lacuna::kernels {
namespace {

using test::Block;
using test::element;
using test::set_element;

constexpr std::array<std::size_t, 11> counts = {0, 1, 2, 3, 7, 8, 15, 16, 17, 33, 1000};

/// Random bits, ordinary numbers and special values in turn.
std::uint64_t draw_element(Dtype dtype, std::mt19937_64& random) {
  if (is_integer(dtype) || random() % 3 == 0) return random() >> (64 - 8 * size_of(dtype));
  if (random() % 2 == 0) return oracle::encode(dtype, static_cast<double>(random() % 4001) / 16 - 125);
  using Limits = std::numeric_limits<double>;
  const std::array<double, 12> specials = {
      0.0,     -0.0, Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), 1.0, -1.0, 6e-8, -6e-8, 1e-40,
      65504.0, 3e38};
  return oracle::encode(dtype, specials[random() % specials.size()]);
}

void fill(Dtype dtype, std::byte* array, std::size_t count, std::mt19937_64& random) {
  for (std::size_t i = 0; i < count; ++i) set_element(dtype, array, i, draw_element(dtype, random));
}

enum class Alias { None, OutIsA, OutIsB, All };
constexpr std::array aliases = {Alias::None, Alias::OutIsA, Alias::OutIsB, Alias::All};

std::vector<Scale> scales_of(Dtype dtype) {
  if (is_integer(dtype)) return {{}};
  return {{}, {.divisor = 3}, {.divisor = 8}, {.multiplier = 5, .divisor = 3}, {.multiplier = 0.1}};
}

/// The same, and those of the terms of a mean of three, six and eight.
std::vector<SumScale> sum_scales_of(Dtype dtype) {
  std::vector<SumScale> all;
  for (const Scale& scale : scales_of(dtype)) all.push_back({.sum = scale});
  for (const Scale& scale : {Scale{}, Scale{.divisor = 0.75}}) {
    all.push_back({.first = 0.25, .second = 0.25, .sum = scale});
    all.push_back({.second = 0.125, .sum = scale});
  }
  return all;
}

struct Case {
  Dtype dtype;
  Reduction reduction;
  SumScale scale;
  std::size_t count;
  std::array<std::size_t, 3> offsets;  // the misalignment of out, a and b
  Alias alias;
};

void expect_as_oracle(const Case& c) {
  std::mt19937_64 random(c.count * 31 + c.offsets[1]);
  const std::size_t bytes = c.count * size_of(c.dtype);
  Block first(bytes, c.offsets[1]), second(bytes, c.offsets[2]), third(bytes, c.offsets[0]);
  fill(c.dtype, first.data(), c.count, random);
  fill(c.dtype, second.data(), c.count, random);
  std::byte* a = first.data();
  std::byte* b = c.alias == Alias::All ? a : second.data();
  std::byte* out = c.alias == Alias::None ? third.data() : c.alias == Alias::OutIsB ? b : a;
  std::vector<std::uint64_t> expected(c.count);
  for (std::size_t i = 0; i < c.count; ++i) {
    expected[i] = oracle::reduce(c.dtype, c.reduction, c.scale, element(c.dtype, a, i), element(c.dtype, b, i));
  }
  const std::vector<std::byte> a_before(a, a + bytes), b_before(b, b + bytes);

  backend().reduce(c.reduction, c.scale, {c.dtype, out, c.count}, a, b);

  for (std::size_t i = 0; i < c.count; ++i) {
    ASSERT_TRUE(oracle::same(c.dtype, element(c.dtype, out, i), expected[i]))
        << "element " << i << " of " << c.count << ", alias " << static_cast<int>(c.alias) << ", scales "
        << c.scale.first << ", " << c.scale.second << ", " << c.scale.sum.multiplier << "/" << c.scale.sum.divisor
        << std::hex << ": " << element(c.dtype, out, i) << " instead of " << expected[i];
  }
  ASSERT_TRUE(out == a || std::equal(a, a + bytes, a_before.begin()));
  ASSERT_TRUE(out == b || std::equal(b, b + bytes, b_before.begin()));
  ASSERT_TRUE(first.guards_hold() && second.guards_hold() && third.guards_hold());
}

class Reduce : public ::testing::TestWithParam<std::tuple<Dtype, Reduction>> {};

std::string name_of(const ::testing::TestParamInfo<std::tuple<Dtype, Reduction>>& info) {
  return std::string(to_string(std::get<0>(info.param))) + "_" + std::string(to_string(std::get<1>(info.param)));
}

TEST_P(Reduce, EqualsTheOracleForAllCountsAlignmentsAndAliases) {
  const auto [dtype, reduction] = GetParam();
  for (const SumScale& scale : sum_scales_of(dtype)) {
    for (std::size_t count : counts) {
      for (const std::array<std::size_t, 3> offsets :
           {std::array<std::size_t, 3>{0, 0, 0}, {1, 1, 1}, {3, 0, 5}, {0, 7, 2}}) {
        for (Alias alias : aliases) {
          ASSERT_NO_FATAL_FAILURE(expect_as_oracle({dtype, reduction, scale, count, offsets, alias}));
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Reduce,
                         ::testing::Combine(::testing::ValuesIn(real_dtypes), ::testing::ValuesIn(all_reductions)),
                         name_of);

class ReduceFloats : public ::testing::TestWithParam<Dtype> {
 protected:
  /// The bits of `a op b` from the kernel. The dtype holds both numbers exactly.
  double apply(Reduction reduction, double a, double b) {
    std::array<std::byte, 8> x{}, y{}, out{};
    set_element(GetParam(), x.data(), 0, oracle::encode(GetParam(), a));
    set_element(GetParam(), y.data(), 0, oracle::encode(GetParam(), b));
    backend().reduce(reduction, {}, {GetParam(), out.data(), 1}, x.data(), y.data());
    return oracle::decode(GetParam(), element(GetParam(), out.data(), 0));
  }
};

TEST_P(ReduceFloats, MinusZeroIsLessThanPlusZero) {
  EXPECT_TRUE(std::signbit(apply(Reduction::Min, -0.0, 0.0)));
  EXPECT_TRUE(std::signbit(apply(Reduction::Min, 0.0, -0.0)));
  EXPECT_FALSE(std::signbit(apply(Reduction::Max, -0.0, 0.0)));
  EXPECT_FALSE(std::signbit(apply(Reduction::Max, 0.0, -0.0)));
  EXPECT_TRUE(std::signbit(apply(Reduction::Max, -0.0, -0.0)));
}

TEST_P(ReduceFloats, NanWinsOverEveryNumber) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (double number : {0.0, -1.0, std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
    for (Reduction reduction : all_reductions) {
      EXPECT_TRUE(std::isnan(apply(reduction, nan, number))) << to_string(reduction) << " " << number;
      EXPECT_TRUE(std::isnan(apply(reduction, number, nan))) << to_string(reduction) << " " << number;
    }
  }
}

TEST_P(ReduceFloats, NegativeNansWinToo) {
  const std::uint64_t sign = std::uint64_t{1} << (8 * size_of(GetParam()) - 1);
  for (Reduction reduction : {Reduction::Min, Reduction::Max}) {
    std::array<std::byte, 8> x{}, y{}, out{};
    set_element(GetParam(), x.data(), 0, sign | oracle::encode(GetParam(), std::numeric_limits<double>::quiet_NaN()));
    backend().reduce(reduction, {}, {GetParam(), out.data(), 1}, x.data(), y.data());
    EXPECT_TRUE(std::isnan(oracle::decode(GetParam(), element(GetParam(), out.data(), 0)))) << to_string(reduction);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ReduceFloats, ::testing::Values(Dtype::F32, Dtype::F64, Dtype::BF16, Dtype::F16));

TEST(ReduceAverage, SixteenBitSumsAreRoundedOnlyAfterTheDivision) {
  // bf16 has no 257. If the sum were rounded before the division, it would be 256.
  const bf16 a = to_bf16(256.0f), b = to_bf16(1.0f);
  bf16 out{};
  backend().reduce(Reduction::Avg, {.sum = {.divisor = 257}}, {Dtype::BF16, reinterpret_cast<std::byte*>(&out), 1},
                   reinterpret_cast<const std::byte*>(&a), reinterpret_cast<const std::byte*>(&b));
  EXPECT_EQ(to_float(out), 1.0f);
  const f16 large = to_f16(65504.0f);
  f16 mean{};
  backend().reduce(Reduction::Avg, {.sum = {.divisor = 2}}, {Dtype::F16, reinterpret_cast<std::byte*>(&mean), 1},
                   reinterpret_cast<const std::byte*>(&large), reinterpret_cast<const std::byte*>(&large));
  EXPECT_EQ(to_float(mean), 65504.0f);
}

TEST(Copy, EqualsTheOracleForAllDtypesCountsAndAlignments) {
  for (Dtype dtype : real_dtypes) {
    for (const Scale& scale : scales_of(Dtype::F32)) {  // integers are copied, whatever the scale
      for (std::size_t count : counts) {
        for (std::size_t offset : {0u, 1u, 5u}) {
          for (bool in_place : {false, true}) {
            std::mt19937_64 random(count);
            const std::size_t bytes = count * size_of(dtype);
            Block source(bytes, offset), target(bytes, 2 * offset);
            fill(dtype, source.data(), count, random);
            const std::vector<std::byte> before(source.data(), source.data() + bytes);
            std::byte* out = in_place ? source.data() : target.data();
            backend().copy(scale, {dtype, out, count}, source.data());
            for (std::size_t i = 0; i < count; ++i) {
              const std::uint64_t given = element(dtype, before.data(), i);
              const bool copied = is_integer(dtype) || scale.is_one();
              const std::uint64_t expected =
                  copied ? given : oracle::scaled(dtype, oracle::decode(dtype, given), scale);
              ASSERT_TRUE(oracle::same(dtype, element(dtype, out, i), expected)) << to_string(dtype) << " " << i;
            }
            ASSERT_TRUE(source.guards_hold() && target.guards_hold());
          }
        }
      }
    }
  }
}

TEST(Clear, LeavesZerosOfAllDtypesCountsAndAlignmentsAndTouchesNothingElse) {
  for (Dtype dtype : real_dtypes) {
    for (std::size_t count : counts) {
      for (std::size_t offset : {0u, 1u, 5u}) {
        std::mt19937_64 random(count);
        Block block(count * size_of(dtype), offset);
        fill(dtype, block.data(), count, random);
        backend().clear({dtype, block.data(), count});
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(element(dtype, block.data(), i), 0u) << to_string(dtype);
        ASSERT_TRUE(block.guards_hold()) << to_string(dtype) << " " << count;
      }
    }
  }
}

TEST(LoadNumber, GivesEveryElementOfEveryDtype) {
  std::mt19937_64 random(9);
  for (Dtype dtype : real_dtypes) {
    Block block(33 * size_of(dtype), 3);
    for (std::size_t i = 0; i < 33; ++i) {
      const std::uint64_t number = random() % 100;
      const std::uint64_t bits = is_integer(dtype) ? number : oracle::encode(dtype, static_cast<double>(number));
      set_element(dtype, block.data(), i, bits);
      ASSERT_EQ(load_number(dtype, block.data(), i), static_cast<double>(number)) << to_string(dtype) << " " << i;
    }
  }
}

TEST(Copy, MayOverlap) {
  std::array<std::byte, 100> data{}, expected{};
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i);
  expected = data;
  std::memmove(expected.data() + 4, expected.data(), 80);
  backend().copy({}, {Dtype::F32, data.data() + 4, 20}, data.data());
  EXPECT_EQ(data, expected);
}

}  // namespace
}  // namespace lacuna::kernels
