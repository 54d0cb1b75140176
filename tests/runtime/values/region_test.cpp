#include "runtime/values/region.hpp"

#include <gtest/gtest.h>

#include "runtime/engine/memory_pools.hpp"
#include "runtime/engine/run.hpp"
#include "tests/support/oracle.hpp"

namespace lacuna {
namespace {

constexpr Region range(std::uint32_t begin, std::uint32_t end, std::uint32_t of, Buffer buffer = Buffer::Output) {
  return {buffer, false, 0, of, begin, end};
}

TEST(Region, EqualFractionsAreTheSameInterval) {
  EXPECT_TRUE(same_elements(range(1, 2, 2), range(2, 4, 4, Buffer::Input)));
  EXPECT_FALSE(same_elements(range(1, 2, 2), range(1, 4, 4)));
  EXPECT_TRUE(same_elements({}, {}));
  EXPECT_FALSE(same_elements({}, range(0, 1, 1)));
}

TEST(Region, OverlapIsExactForFractions) {
  EXPECT_TRUE(overlap(range(1, 2, 3), range(1, 2, 2)));
  EXPECT_FALSE(overlap(range(0, 1, 3), range(1, 2, 2)));
  EXPECT_FALSE(overlap(range(0, 1, 2), range(2, 4, 4)));
  EXPECT_FALSE(overlap(range(0, 1, 2), range(0, 1, 2, Buffer::Input)));
  EXPECT_FALSE(overlap({}, {}));
}

TEST(Region, CoverNeedsAllOfIt) {
  EXPECT_TRUE(covers(range(0, 1, 2), range(0, 2, 4)));
  EXPECT_TRUE(covers(range(0, 1, 1), range(3, 4, 7)));
  EXPECT_FALSE(covers(range(0, 1, 2), range(1, 3, 4)));
}

TEST(Region, BoundariesAreExactForAnyCount) {
  for (std::size_t n : {0ull, 1ull, 5ull, 1000ull, (1ull << 31) + 1, (1ull << 40) - 3, ~0ull}) {
    for (std::size_t m : {1ull, 2ull, 3ull, 7ull, 64ull, 1024ull, 4294967295ull}) {
      for (std::size_t i : {std::size_t{0}, std::size_t{1}, m / 2, m - 1, m}) {
        EXPECT_EQ(boundary(i, n, m), test::exact_boundary(i, n, m)) << i << " of " << n << " in " << m;
      }
    }
  }
}

/// A part of a call on memory that does not exist: the tests only compute addresses.
struct Fake {
  Fake(Collective collective, Rank size, Rank position, std::size_t count, Dtype dtype) {
    run.call.collective = collective;
    run.call.input = reinterpret_cast<const void*>(input);
    run.call.output = reinterpret_cast<void*>(output);
    run.call.count = count;
    run.call.dtype = dtype;
    part.run = &run;
    part.order = {size, 0};
    part.position = position;
    part.graph = std::make_shared<const Graph>(GraphShape{.collective = collective, .size = size}, true,
                                               std::vector<Step>{}, std::span<const Graph::Edge>{});
  }
  void take(std::size_t number, std::size_t parts) {
    const std::size_t offset = boundary(number, run.call.count, parts);
    part.followed.data = {offset, boundary(number + 1, run.call.count, parts) - offset};
    part.plan = &part.followed;
    cut(part);
    lay_out(part, memory);
  }
  Extent at(const Region& region) const { return resolve(part, region); }

  static constexpr std::uintptr_t input = 0x1000'0000'0001, output = 0x2000'0000'0003;
  runtime::MemoryPools memory;
  runtime::Run run;
  runtime::ActivePart part;
};

std::uintptr_t address(const Extent& extent) { return reinterpret_cast<std::uintptr_t>(extent.data); }

TEST(Resolve, PiecesOfAllPartsTileMoreThanTwoToThe31Elements) {
  for (std::size_t count : {(std::size_t{1} << 31) + 7, (std::size_t{5} << 33) - 1}) {
    for (Rank size : {1, 3, 7, 16}) {
      for (std::size_t parts : {1u, 8u, 64u}) {
        Fake fake(Collective::Allreduce, size, 0, count, Dtype::F64);
        std::uintptr_t next = Fake::output;
        for (std::size_t part = 0; part < parts; ++part) {
          fake.take(part, parts);
          for (Rank piece = 0; piece < size; ++piece) {
            const auto i = static_cast<std::uint32_t>(piece);
            const auto extent = fake.at(range(i, i + 1, static_cast<std::uint32_t>(size)));
            ASSERT_EQ(address(extent), next) << count << " elements, " << size << " ranks, part " << part;
            next += 8 * extent.count;
          }
        }
        EXPECT_EQ(next, Fake::output + 8 * count);
      }
    }
  }
}

TEST(Resolve, ASymmetricPieceIsThePositionsOwn) {
  Fake fake(Collective::Allreduce, 5, 3, std::size_t{1} << 33, Dtype::F32);
  fake.take(0, 1);
  const auto extent = fake.at(range(4, 5, 5));  // piece 4 after position 3 is piece 2
  EXPECT_EQ(address(extent), Fake::output + 4 * test::exact_boundary(2, std::size_t{1} << 33, 5));
}

TEST(Resolve, ABlockIsTheRanksAndAPartTakesTheSameRangeOfEach) {
  constexpr std::size_t count = (std::size_t{1} << 31) + 5;
  Fake fake(Collective::ReduceScatter, 4, 1, count, Dtype::BF16);
  fake.take(3, 8);
  const std::size_t offset = test::exact_boundary(3, count, 8);
  const auto block = fake.at(range(1, 2, 4, Buffer::Input));  // piece 1 after position 1 is block 2
  EXPECT_EQ(address(block), Fake::input + 2 * (2 * count + offset));
  EXPECT_EQ(block.count, test::exact_boundary(4, count, 8) - offset);
  EXPECT_EQ(address(fake.at(range(0, 1, 4))), Fake::output + 2 * offset);
}

TEST(Resolve, AllgatherHasItsBlocksInTheOutput) {
  constexpr std::size_t count = std::size_t{3} << 31;
  Fake fake(Collective::Allgather, 4, 2, count, Dtype::I64);
  fake.take(0, 1);
  EXPECT_EQ(address(fake.at(range(3, 4, 4))), Fake::output + 8 * count);  // piece 3 after position 2 is block 1
  EXPECT_EQ(address(fake.at(range(0, 1, 4, Buffer::Input))), Fake::input);
}

TEST(Resolve, APieceIsTheBlockOfTheRankThatStandsThere) {
  Fake fake(Collective::Gather, 4, 0, 10, Dtype::I64);
  fake.part.order = {4, 3};  // rank 3 is the root
  fake.take(0, 1);
  EXPECT_EQ(address(fake.at(range(0, 1, 4))), Fake::output + 8 * 3 * 10);
  EXPECT_EQ(address(fake.at(range(1, 2, 4))), Fake::output);
}

TEST(Resolve, ASignalHasNoBytes) {
  Fake fake(Collective::Barrier, 4, 2, 0, Dtype::U8);
  fake.take(0, 1);
  EXPECT_EQ(fake.at({}).count, 0u);
  EXPECT_EQ(fake.at({}).data, nullptr);
}

}  // namespace
}  // namespace lacuna
