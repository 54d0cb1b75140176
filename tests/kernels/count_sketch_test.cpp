#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/kernels/block.hpp"
#include "tests/kernels/oracle.hpp"
#include "tests/kernels/sketching.hpp"

namespace lacuna::kernels {
namespace {

using namespace lacuna::test;

/// The cells of an element in all rows, and their signs, as a sketch of only this element shows them.
struct Cell {
  std::size_t at;
  double sign;
};
std::vector<Cell> cells_of_element(const SketchShape& shape, std::size_t i, std::size_t count) {
  Values one(count);
  one[i] = 1;
  Bits bits((count + shape.block - 1) / shape.block);
  bits[i / shape.block] = true;
  const Values table = sketched(shape, one, map_of(bits));
  std::vector<Cell> cells;
  for (std::size_t cell = 0; cell < table.size(); ++cell) {
    if (table[cell] != 0) cells.push_back({cell, table[cell]});
  }
  return cells;
}

TEST(CountSketch, EachElementHasOneCellInEachRow) {
  const SketchShape shape{.seed = 5, .rows = 8, .buckets = 13, .block = 3};
  for (std::size_t i = 0; i < 100; ++i) {
    const std::vector<Cell> cells = cells_of_element(shape, i, 100);
    ASSERT_EQ(cells.size(), 8u);
    for (std::size_t row = 0; row < 8; ++row) {
      EXPECT_EQ(cells[row].at / (13 * 3), row);
      EXPECT_EQ(cells[row].at % 3, i % 3) << "an element keeps its place in the block";
      EXPECT_EQ(std::abs(cells[row].sign), 1);
    }
  }
}

TEST(CountSketch, TheSketchOfASumIsTheSumOfTheSketches) {
  std::mt19937_64 random(1);
  for (Dtype dtype : real_dtypes) {
    for (std::size_t count : {1u, 100u, 1001u}) {
      const SketchShape shape{.seed = count, .rows = 3, .buckets = 11, .block = 5};
      const Bytes map = map_of(Bits((count + 4) / 5, true));
      Block a(count * size_of(dtype), 1), b(count * size_of(dtype), 3), sum(count * size_of(dtype), 5);
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t x = random() % 16, y = random() % 16;
        const auto bits = [&](std::uint64_t number) {
          return is_integer(dtype) ? number : oracle::encode(dtype, static_cast<double>(number));
        };
        set_element(dtype, a.data(), i, bits(x));
        set_element(dtype, b.data(), i, bits(y));
        set_element(dtype, sum.data(), i, bits(x + y));
      }
      const Dtype cells = cells_of(dtype);
      Bytes of_a(shape.cells() * size_of(cells)), of_b(of_a), of_sum(of_a);
      const auto sketch = [&](Block& from, Bytes& to) {
        backend().sketch(shape, {dtype, from.data(), count}, map.data(), {cells, to.data(), shape.cells()});
      };
      sketch(a, of_a);
      sketch(b, of_b);
      sketch(sum, of_sum);
      backend().reduce(Reduction::Sum, {}, {cells, of_a.data(), shape.cells()}, of_a.data(), of_b.data());
      EXPECT_EQ(of_a, of_sum) << to_string(dtype) << " " << count;
    }
  }
}

TEST(CountSketch, ATableHoldsNothingOfEarlierSketches) {
  const Bits bits = set_of(Set::Drawn, 50, 200, 1);
  const Values values = values_at(bits, 2);
  const SketchShape shape{.seed = 1, .rows = 2, .buckets = 300};
  const Values once = sketched(shape, values, map_of(bits));  // its table held other numbers before
  Values twice = once;
  backend().sketch(shape, source(Dtype::F64, values), map_of(bits).data(),
                   {Dtype::F64, reinterpret_cast<std::byte*>(twice.data()), twice.size()});
  EXPECT_EQ(twice, once);
  EXPECT_GE(std::count(once.begin(), once.end(), 0.0), 500) << "cells without an element";
}

TEST(CountSketch, EntriesThatShareNoCellAreExactAndOthersAreNot) {
  const std::size_t count = 400;
  const SketchShape shape{.seed = 9, .rows = 1, .buckets = 120};
  const Bits bits = set_of(Set::Drawn, 100, count, 3);
  std::vector<std::size_t> load(shape.cells());
  std::vector<std::size_t> cell(count);
  Values values(count);
  std::mt19937_64 random(4);
  for (std::size_t i = 0; i < count; ++i) {
    if (!bits[i]) continue;
    values[i] = static_cast<double>(1 + random() % 1000);
    cell[i] = cells_of_element(shape, i, count).at(0).at;
    ++load[cell[i]];
  }
  const Bytes map = map_of(bits);
  const Values out = decoded(shape, {}, sketched(shape, values, map), map, count);
  std::size_t alone = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!bits[i]) {
      EXPECT_EQ(out[i], 0) << i;
    } else {
      EXPECT_EQ(out[i] == values[i], load[cell[i]] == 1) << i;
      alone += load[cell[i]] == 1;
    }
  }
  EXPECT_GT(alone, 20u);
  EXPECT_LT(alone, 80u);
}

// A relative error of sqrt(U / c), and a share of e^(-U / c) that is exact.
TEST(CountSketch, TheErrorOfOneRowIsTheRootOfTheLoadForAnySetOfPlaces) {
  constexpr std::size_t entries = 20'000, length = 100'000;
  for (Set set : {Set::Drawn, Set::Progression, Set::Contiguous}) {
    const Bits bits = set_of(set, entries, length, 5);
    const Values values = values_at(bits, 6);
    Values logs;
    for (double load : {0.25, 0.5, 1.0, 2.0, 4.0}) {
      const SketchShape shape{
          .seed = 77, .rows = 1, .buckets = static_cast<std::size_t>(static_cast<double>(entries) / load)};
      const Fidelity there = fidelity_of(shape, {}, values, bits);
      EXPECT_NEAR(there.error / std::sqrt(load), 1, 0.05) << "load " << load << " set " << static_cast<int>(set);
      EXPECT_NEAR(there.exact, std::exp(-load), 0.01) << "load " << load << " set " << static_cast<int>(set);
      logs.push_back(std::log(there.error));
    }
    EXPECT_NEAR((logs.back() - logs.front()) / std::log(16.0), 0.5, 0.05);
  }
}

TEST(CountSketch, TheMeanOverSeedsIsTheTruth) {
  constexpr std::size_t entries = 60, seeds = 1000;
  const Bits bits(entries, true);
  const Values values = values_at(bits, 8);
  const Bytes map = map_of(bits);
  double norm = 0;
  for (double value : values) norm += value * value;
  Values sum(entries);
  for (std::size_t seed = 0; seed < seeds; ++seed) {
    const SketchShape shape{.seed = seed, .rows = 1, .buckets = 20};
    const Values out = decoded(shape, {}, sketched(shape, values, map), map, entries);
    for (std::size_t i = 0; i < entries; ++i) sum[i] += out[i];
  }
  for (std::size_t i = 0; i < entries; ++i) {
    const double deviation = std::sqrt((norm - values[i] * values[i]) / 20 / seeds);
    EXPECT_NEAR(sum[i] / seeds, values[i], 4 * deviation) << i;
  }
}

TEST(CountSketch, ThreeRowsWinWithFourCellsForAnEntryAndLoseWithOne) {
  constexpr std::size_t entries = 12'000;
  const Bits bits(entries, true);
  const Values values = values_at(bits, 10);
  const auto error = [&](std::size_t rows, std::size_t cells) {
    return fidelity_of({.seed = 3, .rows = rows, .buckets = cells / rows}, {}, values, bits).error;
  };
  EXPECT_LT(error(3, 4 * entries), 0.95 * error(1, 4 * entries));
  EXPECT_GT(error(3, entries), 1.03 * error(1, entries));
}

TEST(CountSketch, RowsHashAloneAndPairsShareCellsAsOftenAsChanceHasIt) {
  constexpr std::size_t count = 600, buckets = 50;
  const SketchShape shape{.seed = 21, .rows = 2, .buckets = buckets};
  std::vector<std::vector<Cell>> cells;
  for (std::size_t i = 0; i < count; ++i) cells.push_back(cells_of_element(shape, i, count));
  double first = 0, both = 0, agree = 0;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const bool in_first = cells[i][0].at == cells[j][0].at, in_second = cells[i][1].at == cells[j][1].at;
      first += in_first;
      both += in_first && in_second;
      agree += cells[i][0].sign == cells[j][0].sign;
    }
  }
  constexpr double pairs = count * (count - 1) / 2;
  EXPECT_NEAR(first * buckets / pairs, 1, 0.1);
  EXPECT_LT(both, 4 * pairs / buckets / buckets) << "two rows put the same elements together";
  EXPECT_NEAR(agree / pairs, 0.5, 0.02);
}

TEST(CountSketch, AnotherSeedPutsOthersTogether) {
  constexpr std::size_t count = 100;
  std::set<std::size_t> different;
  for (std::uint64_t seed : {0u, 1u, 2u, 3u}) {
    std::size_t cells = 0;
    for (std::size_t i = 0; i < count; ++i) {
      cells = cells * 31 + cells_of_element({.seed = seed, .rows = 1, .buckets = 64}, i, count)[0].at;
    }
    different.insert(cells);
  }
  EXPECT_EQ(different.size(), 4u);
}

TEST(CountSketch, WhatIsDecodedAndWhatResidualsKeepAreTogetherWhatWentIn) {
  constexpr std::size_t count = 1003, ranks = 3;
  std::mt19937_64 random(12);
  for (const auto& [rows, estimate] : {std::pair{std::size_t{1}, Estimate::Median},
                                       {3, Estimate::Median},
                                       {5, Estimate::Median},
                                       {4, Estimate::Mean},
                                       {8, Estimate::Mean}}) {
    for (std::size_t block : {1u, 4u}) {
      const SketchShape shape{.seed = rows, .rows = rows, .buckets = 40 / block, .block = block};
      const Bytes map = map_of(set_of(Set::Drawn, 100, (count + block - 1) / block, 2));
      std::vector<Values> inputs(ranks, Values(count)), tables;
      Values table(shape.cells()), put_in(count);
      for (Values& input : inputs) {
        for (std::size_t i = 0; i < count; ++i) {
          if ((map[i / block / 8] >> i / block % 8 & std::byte{1}) == std::byte{0}) continue;
          input[i] = static_cast<double>(random() % 201) - 100;
          put_in[i] += input[i];
        }
        tables.push_back(sketched(shape, input, map));
        for (std::size_t cell = 0; cell < table.size(); ++cell) table[cell] += tables.back()[cell];
      }
      Values kept(count), out;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        Values residual = inputs[rank];
        out = decoded(shape,
                      {.estimate = estimate,
                       .scale = {.multiplier = 0.25},
                       .own_table = reinterpret_cast<const std::byte*>(tables[rank].data()),
                       .residual = reinterpret_cast<std::byte*>(residual.data()),
                       .contributed = 0.25},
                      table, map, count);
        for (std::size_t i = 0; i < count; ++i) kept[i] += residual[i];
      }
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(out[i] + kept[i], put_in[i]) << rows << " rows, element " << i;
      ASSERT_NE(out, put_in);
    }
  }
}

TEST(CountSketch, BitsBeyondTheLastBlockAreNoBlocks) {
  const SketchShape shape{.seed = 1, .rows = 1, .buckets = 7, .block = 4};
  const Values values(10, 1.0);
  const Bytes exact = {std::byte{0x07}}, more = {std::byte{0xff}};
  EXPECT_EQ(sketched(shape, values, more), sketched(shape, values, exact));
  const Values table = sketched(shape, values, exact);
  EXPECT_EQ(decoded(shape, {}, table, more, 10), decoded(shape, {}, table, exact, 10));
}

TEST(CountSketch, DecodesToUnalignedMemoryOfEachFloatingType) {
  for (Dtype dtype : {Dtype::F32, Dtype::F64, Dtype::BF16, Dtype::F16}) {
    constexpr std::size_t count = 67;
    const SketchShape shape{.seed = 2, .rows = 3, .buckets = 20011};
    Block values(count * size_of(dtype), 1), out(count * size_of(dtype), 3), table(shape.cells() * 8, 5);
    for (std::size_t i = 0; i < count; ++i) {
      set_element(dtype, values.data(), i, oracle::encode(dtype, static_cast<double>(i) - 30));
    }
    const Bytes map = map_of(Bits(count, true));
    backend().sketch(shape, {dtype, values.data(), count}, map.data(), {cells_of(dtype), table.data(), shape.cells()});
    backend().decode_sketch(shape, {.map = map.data(), .table = table.data()}, {dtype, out.data(), count});
    EXPECT_TRUE(out.guards_hold() && table.guards_hold());
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(oracle::decode(dtype, element(dtype, out.data(), i)), static_cast<double>(i) - 30) << to_string(dtype);
    }
  }
}

}  // namespace
}  // namespace lacuna::kernels
