#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/elements.hpp"
#include "tests/kernels/backends.hpp"
#include "tests/kernels/block.hpp"
#include "tests/kernels/oracle.hpp"

namespace lacuna::kernels {
namespace {

using test::Block;
using test::block_of;
using test::elements_of;
using Elements = std::vector<std::uint64_t>;

constexpr std::array<std::size_t, 12> block_lengths = {1, 2, 3, 7, 31, 32, 33, 256, 511, 513, 1000, 4096};

/// Where each block of a grid begins: the blocks of each group of the array are dealt to the grids one by one.
std::vector<std::size_t> begins_of(const BlockGrid& grid) {
  std::vector<std::size_t> begins;
  for (std::size_t b = 0; b * grid.length < grid.elements; ++b) {
    const std::size_t turn = grid.turns ? (mix64(b / grid.stride) >> 32) * grid.stride >> 32 : 0;
    if ((grid.first + turn) % grid.stride == b % grid.stride) begins.push_back(b * grid.length);
  }
  return begins;
}
std::size_t blocks_in(const BlockGrid& grid) { return begins_of(grid).size(); }

/// An array of which some blocks of a grid are zero, and the map that a plain loop makes of it.
struct CutArray {
  BlockGrid grid;
  Elements array;
  std::vector<bool> set;
  std::vector<std::size_t> begins = begins_of(grid);

  std::vector<std::byte> map() const {
    std::vector<std::byte> bytes((set.size() + 7) / 8);
    for (std::size_t b = 0; b < set.size(); ++b) {
      if (set[b]) bytes[b / 8] |= std::byte{1} << b % 8;
    }
    return bytes;
  }
  /// The elements of block b, as a plain loop finds them.
  Elements block(std::size_t b) const {
    Elements elements;
    for (std::size_t i = begins[b]; i < begins[b] + grid.length && i < array.size(); ++i) elements.push_back(array[i]);
    return elements;
  }
  Elements packed() const {
    Elements all;
    for (std::size_t b = 0; b < set.size(); ++b) {
      const Elements of_block = block(b);
      if (set[b]) all.insert(all.end(), of_block.begin(), of_block.end());
    }
    return all;
  }
};

/// One bit, or bits that are special, or any.
std::uint64_t draw_not_zero(Dtype dtype, std::mt19937_64& random) {
  const std::size_t bits = 8 * size_of(dtype);
  const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
  switch (random() % 4) {
    case 0:
      return sign;  // -0, or the least integer
    case 1:
      return is_integer(dtype) ? 1 : oracle::encode(dtype, std::numeric_limits<double>::quiet_NaN());
    case 2:
      return std::uint64_t{1} << random() % bits;
    default:
      return (random() >> (64 - bits)) | 1;
  }
}

CutArray drawn(Dtype dtype, BlockGrid grid, double density, std::mt19937_64& random) {
  CutArray cut{grid, Elements(grid.elements), std::vector<bool>(blocks_in(grid))};
  for (std::size_t b = 0; b < cut.set.size(); ++b) {
    cut.set[b] = static_cast<double>(random() % 1000) < 1000 * density;
    if (!cut.set[b]) continue;
    const std::size_t begin = cut.begins[b];
    const std::size_t size = std::min(grid.length, grid.elements - begin);
    if (random() % 2 == 0) {
      cut.array[begin + random() % size] = draw_not_zero(dtype, random);
    } else {
      for (std::size_t i = 0; i < size; ++i) cut.array[begin + i] = draw_not_zero(dtype, random);
    }
  }
  return cut;
}

/// Calls body(grid) for grids of all kinds.
template <class Body>
void each_grid(const Body& body) {
  for (std::size_t length : block_lengths) {
    for (std::size_t blocks : {0u, 1u, 8u, 65u}) {
      for (std::size_t extra : {std::size_t{0}, std::size_t{1}, length - 1}) {
        body(BlockGrid{.elements = blocks * length + extra, .length = length});
        body(BlockGrid{.elements = blocks * length + extra, .length = length, .first = 2, .stride = 3});
        body(BlockGrid{.elements = blocks * length + extra, .length = length, .first = 1, .stride = 4, .turns = true});
      }
    }
  }
}

/// The ranks of a map, counted bit by bit.
std::vector<std::uint32_t> ranks_of(const std::vector<bool>& set) {
  std::vector<std::uint32_t> ranks((set.size() + 63) / 64 + 1);
  std::uint32_t ones = 0;
  for (std::size_t b = 0; b < set.size(); ++b) {
    if (b % 64 == 0) ranks[b / 64] = ones;
    ones += set[b] ? 1u : 0u;
  }
  ranks.back() = ones;
  return ranks;
}

/// A map and its ranks in memory.
struct Map {
  std::vector<std::byte> map;
  std::vector<std::uint32_t> ranks;

  explicit Map(const CutArray& cut) : map(cut.map()), ranks(ranks_of(cut.set)) {}
  BlockSet set() const { return {map.data(), ranks.data()}; }
};

TEST(Blocks, AGridCountsItsBlocksAndKnowsWhereTheyLie) {
  each_grid([](const BlockGrid& grid) {
    const std::vector<std::size_t> begins = begins_of(grid);
    ASSERT_EQ(grid.count(), begins.size()) << grid.elements << " by " << grid.length;
    for (std::size_t b = 0; b < begins.size(); ++b) {
      ASSERT_EQ(grid.begin(b), begins[b]);
      ASSERT_EQ(grid.first_of(begins[b] / grid.length), grid.first);
    }
    std::size_t elements = 0;
    for (std::size_t b = 0; b < grid.count(); ++b) elements += grid.size(b);
    ASSERT_EQ(elements, grid.count() * grid.length - grid.missing());
    if (grid.stride == 1) {
      ASSERT_EQ(elements, grid.elements);
    }
  });
}

TEST(Blocks, ABlockIsFoundIfItHasAnyBit) {
  std::mt19937_64 random(1);
  for (Dtype dtype : real_dtypes) {
    each_grid([&](const BlockGrid& grid) {
      const CutArray cut = drawn(dtype, grid, 0.4, random);
      Block array = block_of(dtype, cut.array, 1);
      const std::vector<std::byte> expected = cut.map();
      Block map(expected.size(), 3);
      backend().find_blocks({dtype, array.data(), cut.array.size()}, grid, nullptr, map.data());
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), map.data()))
          << to_string(dtype) << ", " << grid.elements << " by " << grid.length;
      EXPECT_TRUE(map.guards_hold());
    });
  }
}

TEST(Blocks, WithACutOnlyMagnitudesAboveItCount) {
  const std::vector<float> array = {0, -0.0f, 1, 2, -3, 2, 0, -4, std::numeric_limits<float>::quiet_NaN(), 0, 3, -3};
  const auto* const data = reinterpret_cast<const std::byte*>(array.data());
  const Cut above{.above = magnitude_of(Dtype::F32, 3)};
  const auto found = [&](std::size_t length) {
    std::byte map{0xff};
    backend().find_blocks({Dtype::F32, data, array.size()}, {array.size(), length}, &above, &map);
    return static_cast<unsigned>(map);
  };
  EXPECT_EQ(found(2), 0b011000u);
  EXPECT_EQ(found(3), 0b0100u);
  EXPECT_EQ(found(6), 0b10u);
}

TEST(Blocks, RanksCountTheBitsBeforeEachWord) {
  std::mt19937_64 random(2);
  for (std::size_t length : {0u, 1u, 63u, 64u, 65u, 128u, 5000u}) {
    const CutArray cut = drawn(Dtype::U8, {length, 1}, 0.3, random);
    const std::vector<std::uint32_t> expected = ranks_of(cut.set);
    std::vector<std::uint32_t> ranks(expected.size(), 77);
    backend().rank_bits(cut.map().data(), length, ranks.data());
    EXPECT_EQ(ranks, expected) << length;
  }
}

TEST(Blocks, MapsUniteBitByBit) {
  std::mt19937_64 random(3);
  for (std::size_t length : {0u, 1u, 8u, 9u, 1000u}) {
    std::vector<std::byte> map((length + 7) / 8), other(map.size()), expected(map.size());
    for (std::size_t i = 0; i < map.size(); ++i) {
      map[i] = static_cast<std::byte>(random());
      other[i] = static_cast<std::byte>(random());
      for (unsigned bit = 1; bit < 256; bit *= 2) {
        const bool has = (static_cast<unsigned>(map[i]) & bit) != 0 || (static_cast<unsigned>(other[i]) & bit) != 0;
        if (has) expected[i] |= static_cast<std::byte>(bit);
      }
    }
    backend().unite_bits(map.data(), other.data(), length);
    EXPECT_EQ(map, expected) << length;
  }
}

TEST(Blocks, TakenBlocksLieOneBehindTheOtherAndArePutBack) {
  std::mt19937_64 random(4);
  for (Dtype dtype : real_dtypes) {
    each_grid([&](const BlockGrid& grid) {
      const CutArray cut = drawn(dtype, grid, 0.5, random);
      const Map map(cut);
      const Elements expected = cut.packed();
      Block array = block_of(dtype, cut.array, 3), packed(expected.size() * size_of(dtype), 1);
      backend().take_blocks({dtype, array.data(), cut.array.size()}, grid, map.set(), packed.data());
      ASSERT_EQ(elements_of(dtype, packed.data(), expected.size()), expected) << grid.elements << " by " << grid.length;
      EXPECT_TRUE(packed.guards_hold());
      // Other blocks of the array change only if they are cleared.
      const Elements ones(cut.array.size(), 1);
      for (bool clears : {false, true}) {
        Block to = block_of(dtype, ones, 5);
        backend().put_blocks(packed.data(), grid, map.set(), clears, {dtype, to.data(), ones.size()});
        Elements back = ones;
        for (std::size_t b = 0; b < cut.set.size(); ++b) {
          const Elements of_block = cut.block(b);
          for (std::size_t i = 0; i < of_block.size(); ++i) {
            std::uint64_t& there = back[cut.begins[b] + i];
            there = cut.set[b] ? of_block[i] : clears ? 0 : 1;
          }
        }
        ASSERT_EQ(elements_of(dtype, to.data(), back.size()), back) << grid.elements << " by " << grid.length;
        EXPECT_TRUE(to.guards_hold());
      }
    });
  }
}

TEST(Blocks, ClearedBlocksAreZeroAndNoOthers) {
  std::mt19937_64 random(5);
  for (Dtype dtype : real_dtypes) {
    each_grid([&](const BlockGrid& grid) {
      const CutArray cut = drawn(dtype, grid, 0.5, random);
      const Map map(cut);
      Elements expected(cut.array.size(), 1);
      Block to = block_of(dtype, expected, 1);
      backend().clear_blocks(grid, map.set(), {dtype, to.data(), expected.size()});
      for (std::size_t b = 0; b < cut.set.size(); ++b) {
        const std::size_t begin = cut.begins[b];
        const std::size_t size = cut.set[b] ? cut.block(b).size() : 0;
        for (std::size_t i = begin; i < begin + size; ++i) expected[i] = 0;
      }
      ASSERT_EQ(elements_of(dtype, to.data(), expected.size()), expected) << grid.elements << " by " << grid.length;
    });
  }
}

/// One operation on bits that are held in the accumulation type.
struct Accumulator {
  Dtype dtype;
  Reduction reduction;
  double term = 1;          // factor of floating-point elements
  double wide = 0;          // of floating-point elements
  std::uint64_t whole = 0;  // of integers

  void begin(std::uint64_t bits) { is_integer(dtype) ? void(whole = bits) : void(wide = number(bits)); }
  void apply(std::uint64_t bits) {
    if (is_integer(dtype)) {
      whole = oracle::reduce(dtype, reduction, {}, whole, bits);
    } else {
      wide = oracle::accumulated(dtype, oracle::combined(reduction, wide, number(bits)));
    }
  }
  double number(std::uint64_t bits) const { return oracle::accumulated(dtype, term * oracle::decode(dtype, bits)); }
  std::uint64_t end(Scale scale) const { return is_integer(dtype) ? whole : oracle::scaled(dtype, wide, scale); }
};

/// The reduction of whole arrays, element by element, of the blocks that any source has.
Elements reduced(Dtype dtype, Reduction reduction, const SumScale& scale, const std::vector<CutArray>& sources,
                 const CutArray& result) {
  CutArray sums = result;
  for (std::size_t i = 0; i < sums.array.size(); ++i) {
    Accumulator sum{dtype, reduction, scale.second};
    sum.begin(sources.front().array[i]);
    for (std::size_t v = 1; v < sources.size(); ++v) sum.apply(sources[v].array[i]);
    sums.array[i] = sum.end(scale.sum);
  }
  return sums.packed();
}

void expect_reduced(Dtype dtype, Reduction reduction, std::size_t ranks, const BlockGrid& grid,
                    std::mt19937_64& random) {
  std::vector<CutArray> cuts;
  CutArray result{grid, Elements(grid.elements), std::vector<bool>(blocks_in(grid))};
  for (std::size_t v = 0; v < ranks; ++v) {
    cuts.push_back(drawn(dtype, grid, 0.4, random));
    for (std::size_t b = 0; b < result.set.size(); ++b) result.set[b] = result.set[b] || cuts[v].set[b];
  }
  std::vector<Map> maps(cuts.begin(), cuts.end());
  std::vector<Block> memory;
  std::vector<BlockSource> sources;
  for (std::size_t v = 0; v < ranks; ++v) {
    const bool is_packed = v % 3 != 1;
    memory.push_back(block_of(dtype, is_packed ? cuts[v].packed() : cuts[v].array, 1 + v % 7));
  }
  for (std::size_t v = 0; v < ranks; ++v) sources.push_back({maps[v].set(), memory[v].data(), v % 3 != 1});
  const Map all(result);
  const bool is_sum = reduction == Reduction::Sum || reduction == Reduction::Avg;
  for (const SumScale scale : {SumScale{}, SumScale{.second = is_sum ? 0.25 : 1, .sum = {.divisor = 3}}}) {
    const Elements expected = reduced(dtype, reduction, scale, cuts, result);
    Block out(expected.size() * size_of(dtype), 1);
    backend().reduce_blocks(sources, {reduction, scale.sum, dtype, grid, all.set(), out.data(), scale.second});
    const Elements found = elements_of(dtype, out.data(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_TRUE(oracle::same(dtype, found[i], expected[i]))
          << to_string(dtype) << " " << to_string(reduction) << " of " << ranks << ", element " << i << " of "
          << grid.elements << " by " << grid.length << ": " << found[i] << " for " << expected[i];
    }
    EXPECT_TRUE(out.guards_hold());
  }
}

TEST(Blocks, ReducedBlocksHaveTheBitsOfAReductionOfWholeArrays) {
  std::mt19937_64 random(6);
  for (Dtype dtype : real_dtypes) {
    for (Reduction reduction : all_reductions) {
      for (std::size_t ranks : {1u, 2u, 5u}) {
        for (std::size_t length : {1u, 7u, 33u, 513u}) {
          for (std::size_t elements : {std::size_t{0}, std::size_t{1}, 9 * length + length / 2}) {
            expect_reduced(dtype, reduction, ranks, {elements, length}, random);
            expect_reduced(dtype, reduction, ranks, {elements, length, 1, 2, true}, random);
          }
        }
      }
    }
  }
  expect_reduced(Dtype::F32, Reduction::Sum, 65, {70, 7}, random);
}

/// Rows of a list, sorted by the packed row to which they belong.
struct ListedRows {
  std::vector<std::uint32_t> begins = {0}, order;
};

ListedRows drawn_rows(std::size_t count, std::size_t entries, std::mt19937_64& random) {
  std::vector<std::vector<std::uint32_t>> of_row(count);
  for (std::uint32_t entry = 0; entry < entries; ++entry) {
    of_row[entry < count ? entry : random() % count].push_back(static_cast<std::uint32_t>(entries) - 1 - entry);
  }
  ListedRows rows;
  for (const auto& one : of_row) {
    rows.order.insert(rows.order.end(), one.begin(), one.end());
    rows.begins.push_back(static_cast<std::uint32_t>(rows.order.size()));
  }
  return rows;
}

TEST(Blocks, RowsOfAListAreAddedInTheirOrderAndRoundedOnce) {
  std::mt19937_64 random(9);
  for (Dtype dtype : real_dtypes) {
    for (std::size_t length : block_lengths) {
      for (std::size_t count : {0u, 1u, 5u, 40u}) {
        const ListedRows rows = drawn_rows(count, count == 0 ? 0 : 3 * count, random);
        const CutArray list = drawn(dtype, {.elements = rows.order.size() * length, .length = length}, 0.9, random);
        Elements expected;
        for (std::size_t k = 0; k < count; ++k) {
          for (std::size_t i = 0; i < length; ++i) {
            const auto value = [&](std::size_t j) { return list.array[rows.order[j] * length + i]; };
            Accumulator sum{dtype, Reduction::Sum};
            sum.begin(value(rows.begins[k]));
            for (std::size_t j = rows.begins[k] + 1; j < rows.begins[k + 1]; ++j) sum.apply(value(j));
            expected.push_back(rows.begins[k + 1] - rows.begins[k] == 1 ? value(rows.begins[k]) : sum.end({}));
          }
        }
        Block from = block_of(dtype, list.array, 1);
        Block packed(expected.size() * size_of(dtype), 3);
        backend().sum_rows(dtype, from.data(), length, count, rows.begins.data(), rows.order.data(), packed.data());
        const Elements found = elements_of(dtype, packed.data(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
          ASSERT_TRUE(oracle::same(dtype, found[i], expected[i])) << to_string(dtype) << " rows of " << length;
        }
        EXPECT_TRUE(packed.guards_hold());
      }
    }
  }
}

TEST(Blocks, ARowThatIsAloneKeepsItsBits) {
  for (Dtype dtype : real_dtypes) {
    const Elements bits = {std::uint64_t{1} << (8 * size_of(dtype) - 1),
                           (std::uint64_t{1} << (8 * size_of(dtype) - 1)) - 1};
    Block from = block_of(dtype, bits, 1);
    const std::uint32_t begins[] = {0, 1}, order[] = {0};
    Block packed(bits.size() * size_of(dtype), 1);
    backend().sum_rows(dtype, from.data(), 2, 1, begins, order, packed.data());
    EXPECT_EQ(elements_of(dtype, packed.data(), 2), bits) << to_string(dtype);
  }
}

}  // namespace
}  // namespace lacuna::kernels
