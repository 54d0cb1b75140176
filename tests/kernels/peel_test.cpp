#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <numeric>

#include "tests/kernels/sketching.hpp"

namespace lacuna::kernels {
namespace {

using namespace lacuna::test;

SketchShape shape_for(std::size_t keys, double cells_per_key, std::uint64_t seed, std::size_t block = 1) {
  const double buckets = std::ceil(static_cast<double>(keys) * cells_per_key / 3);
  return {.seed = seed, .rows = 3, .buckets = static_cast<std::size_t>(buckets), .block = block};
}

template <class T>
std::vector<T> integers(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(random());
  return values;
}

/// Peels all of an array of integers. Each value must be right or left.
template <class T>
PeeledArray<T> peel_all(const SketchShape& shape, Dtype dtype, const std::vector<T>& values) {
  const Bytes map = map_of(Bits((values.size() + shape.block - 1) / shape.block, true));
  auto all = peeled<T>(shape, dtype, table_to_peel(shape, dtype, values, map), map, values.size());
  const auto left = std::accumulate(all.left.begin(), all.left.end(), std::uint64_t{0});
  EXPECT_EQ(all.peeled.blocks + left, all.left.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(all.values[i], all.left[i / shape.block] ? T(77) : values[i]) << i;
    if (testing::Test::HasFailure()) break;
  }
  return all;
}

TEST(Peel, IntegersOfEachTypeAreExactAlsoWhereTheyWrap) {
  for (std::size_t block : {1u, 3u, 16u}) {
    const std::size_t count = 3001;
    EXPECT_EQ(peel_all(shape_for(count, 2, 1, block), Dtype::I32, integers<std::int32_t>(count, 1)).peeled.blocks,
              (count + block - 1) / block);
    EXPECT_EQ(peel_all(shape_for(count, 2, 2, block), Dtype::I64, integers<std::int64_t>(count, 2)).peeled.blocks,
              (count + block - 1) / block);
    EXPECT_EQ(peel_all(shape_for(count, 2, 3, block), Dtype::U8, integers<std::uint8_t>(count, 3)).peeled.blocks,
              (count + block - 1) / block);
  }
}

TEST(Peel, OneAndAQuarterCellsForAKeySufficeAndMoreSaveRounds) {
  constexpr std::size_t keys = 100'000;
  const std::vector<std::int32_t> values = integers<std::int32_t>(keys, 4);
  const struct {
    double cells;
    std::uint64_t rounds;
  } rows[] = {{1.25, 45}, {1.5, 14}, {2, 10}};
  for (const auto& [cells, rounds] : rows) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const auto all = peel_all(shape_for(keys, cells, seed), Dtype::I32, values);
      EXPECT_EQ(all.peeled.blocks, keys) << cells;
      EXPECT_LE(all.peeled.rounds, rounds) << cells;
      EXPECT_GE(all.peeled.rounds, 3u) << cells;
    }
  }
}

TEST(Peel, FewerCellsThanThatLeaveKeysAndSaySo) {
  constexpr std::size_t keys = 100'000;
  const std::vector<std::int32_t> values = integers<std::int32_t>(keys, 5);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const auto all = peel_all(shape_for(keys, 1.15, seed), Dtype::I32, values);
    EXPECT_NEAR(static_cast<double>(all.peeled.blocks) / keys, 0.4, 0.04);
  }
}

TEST(Peel, InTinyTablesEachKeyIsRightOrLeft) {
  std::size_t stuck = 0;
  for (std::size_t keys : {1u, 2u, 30u, 100u, 300u}) {
    const std::vector<std::int64_t> values = integers<std::int64_t>(keys, 6);
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      stuck += peel_all(shape_for(keys, 1.25, seed), Dtype::I64, values).peeled.blocks != keys;
    }
  }
  EXPECT_GT(stuck, 20u) << "no case that is stuck was tried";
}

TEST(Peel, WhatIsNotInTheMapIsZero) {
  const Bits bits = set_of(Set::Drawn, 300, 5000, 7);
  std::vector<std::int64_t> values = integers<std::int64_t>(5000, 7);
  const SketchShape shape = shape_for(300, 3, 7);
  const Bytes map = map_of(bits);
  const auto all = peeled<std::int64_t>(shape, Dtype::I64, table_to_peel(shape, Dtype::I64, values, map), map, 5000);
  EXPECT_EQ(all.peeled.blocks, 300u);
  for (std::size_t i = 0; i < 5000; ++i) ASSERT_EQ(all.values[i], bits[i] ? values[i] : 0) << i;
}

TEST(Peel, FloatsInLongCellsAreNearlyExact) {
  constexpr std::size_t count = 50'000;
  std::mt19937_64 random(8);
  std::normal_distribution<double> normal;
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(normal(random) * std::exp(3 * normal(random)));
  const SketchShape shape = shape_for(count, 1.25, 8);
  const Bytes map = map_of(Bits(count, true));
  const auto all = peeled<float>(shape, Dtype::F32, table_to_peel(shape, Dtype::F32, values, map), map, count);
  EXPECT_EQ(all.peeled.blocks, count);
  double off = 0, norm = 0;
  for (std::size_t i = 0; i < count; ++i) {
    off += std::pow(double{all.values[i]} - double{values[i]}, 2);
    norm += std::pow(double{values[i]}, 2);
  }
  EXPECT_LE(std::sqrt(off / norm), 1e-7);
}

TEST(Peel, AnInfinityOrANaNSpoilsNoOtherValue) {
  constexpr std::size_t count = 2000;
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0f);
  values[70] = std::numeric_limits<float>::infinity();
  values[71] = -std::numeric_limits<float>::infinity();
  values[900] = std::numeric_limits<float>::quiet_NaN();
  const SketchShape shape = shape_for(count, 2, 9);
  const Bytes map = map_of(Bits(count, true));
  const auto all = peeled<float>(shape, Dtype::F32, table_to_peel(shape, Dtype::F32, values, map), map, count);
  EXPECT_TRUE(all.left[70] && all.left[71] && all.left[900]);
  for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(all.values[i], all.left[i] ? 77 : values[i]) << i;
  EXPECT_GT(all.peeled.blocks, count * 9 / 10);
}

TEST(Peel, ZerosWithASignAreLeft) {
  SketchShape shape = shape_for(4, 10, 3);
  shape.signs_zeros = true;
  const std::vector<float> values = {3, -0.0f, 0, 5};
  const Bytes map = map_of(Bits(4, true));
  const auto all = peeled<float>(shape, Dtype::F32, table_to_peel(shape, Dtype::F32, values, map), map, 4);
  EXPECT_EQ(all.left, (Bits{false, true, false, false}));
  EXPECT_EQ(all.values, (std::vector<float>{3, 77, 0, 5}));
  EXPECT_FALSE(std::signbit(all.values[2]));
}

TEST(Peel, ResultsAreScaled) {
  const std::vector<double> values = {3, 6, -9};
  const SketchShape shape = shape_for(3, 10, 3);
  const Bytes map = map_of(Bits(3, true));
  const auto all =
      peeled<double>(shape, Dtype::F64, table_to_peel(shape, Dtype::F64, values, map), map, 3, {.divisor = 3});
  EXPECT_EQ(all.values, (std::vector<double>{1, 2, -3}));
}

TEST(Peel, BitsBeyondTheLastBlockAreNoBlocks) {
  const std::vector<double> values = {3, 6, -9};
  const SketchShape shape = shape_for(3, 10, 3);
  const Bytes more = {std::byte{0xff}};
  const auto all = peeled<double>(shape, Dtype::F64, table_to_peel(shape, Dtype::F64, values, more), more, 3);
  EXPECT_EQ(all.peeled.blocks, 3u);
  EXPECT_EQ(all.values, values);
}

/// Peels on the tested backend and on lacuna's own loops, one thread of which peels. All bits must be the same.
TEST(Peel, ManyThreadsPeelInTheOrderOfOne) {
  struct Case {
    std::size_t blocks, block;
    double cells;
    bool has_infinities;
  };
  for (const Case& given : {Case{1, 1, 3, false},
                            {40, 3, 1.1, false},
                            {3000, 1, 1.1, false},
                            {3000, 5, 1.25, true},
                            {20'000, 1, 1.3, true},
                            {20'000, 1, 2.5, false}}) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      const std::size_t count = given.blocks * given.block - (given.block > 1 ? 1 : 0);
      std::mt19937_64 random(seed);
      std::normal_distribution<double> normal;
      std::vector<double> values(count);
      for (double& value : values) value = normal(random) * std::exp(9 * normal(random));
      for (std::size_t i = 0; given.has_infinities && i < 5; ++i) {
        values[random() % count] = (i % 2 == 0 ? 1 : -1) * std::numeric_limits<double>::infinity();
      }
      const SketchShape shape = shape_for(given.blocks, given.cells, seed, given.block);
      const Bytes map = map_of(set_of(Set::Drawn, (given.blocks + 1) / 2, given.blocks, 3));
      const Bytes table = table_to_peel(shape, Dtype::F64, values, map);
      const auto one = peeled<double>(shape, Dtype::F64, table, map, count, {}, backend_to_test("host"));
      const auto many = peeled<double>(shape, Dtype::F64, table, map, count, {});
      EXPECT_EQ(many.peeled.blocks, one.peeled.blocks);
      EXPECT_EQ(many.peeled.rounds, one.peeled.rounds);
      EXPECT_EQ(many.left, one.left);
      EXPECT_EQ(std::memcmp(many.values.data(), one.values.data(), count * sizeof(double)), 0) << given.blocks;
    }
  }
}

}  // namespace
}  // namespace lacuna::kernels
