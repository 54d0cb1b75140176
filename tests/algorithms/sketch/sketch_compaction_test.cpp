#include <limits>

#include "tests/algorithms/sketch/sketch_rig.hpp"
#include "tests/support/oracle.hpp"

// The elements of the union, one by one.
namespace lacuna::test {
namespace {

/// An allreduce of the inputs of an oracle, at addresses that no type aligns, with some stretches zero everywhere.
void expect_reduced(Ranks& ranks, Dtype dtype, Reduction reduction, std::size_t count, std::size_t block) {
  Oracle oracle(ranks.size(), dtype, reduction, count);
  const std::size_t bytes = count * size_of(dtype), size = static_cast<std::size_t>(ranks.size());
  const auto is_empty = [](std::size_t i) { return i / 5 % 3 == 1; };
  std::vector<std::vector<std::byte>> inputs, outputs(size, std::vector<std::byte>(bytes + 1, std::byte{0x5a}));
  std::vector<std::byte> expected(bytes);
  if (bytes > 0) std::memcpy(expected.data(), oracle.reduced(), bytes);
  const auto clear = [&](std::byte* array) {
    for (std::size_t i = 0; i < count; ++i) {
      if (is_empty(i)) std::memset(array + i * size_of(dtype), 0, size_of(dtype));
    }
  };
  clear(expected.data());
  std::vector<Call> calls;
  for (Rank rank = 0; rank < ranks.size(); ++rank) {
    auto& input = inputs.emplace_back(bytes + 1);
    if (bytes > 0) std::memcpy(input.data() + 1, oracle.input(rank), bytes);
    clear(input.data() + 1);
  }
  for (std::size_t rank = 0; rank < size; ++rank) {
    Call call{.collective = Collective::Allreduce,
              .input = inputs[rank].data() + 1,
              .output = outputs[rank].data() + 1,
              .count = count,
              .dtype = dtype,
              .reduction = reduction};
    call.options.algorithm = "compaction";
    call.options.method = *method_options(fmt::format("sketch:block={}", block));
    calls.push_back(call);
  }
  for (const Status& end : ranks.run(calls)) ASSERT_TRUE(end) << end.to_string();
  for (const auto& output : outputs) {
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), output.begin() + 1))
        << to_string(dtype) << " " << to_string(reduction) << " P=" << size << " n=" << count << " block " << block;
    ASSERT_EQ(output[0], std::byte{0x5a});
  }
}

TEST(Compaction, IsTheDenseReductionForEachTypeReductionAndNumberOfRanks) {
  for (Rank size = 1; size <= 9; ++size) {
    Ranks ranks(size, drawn_options(static_cast<std::uint64_t>(size)));
    for (Dtype dtype : real_dtypes) {
      for (Reduction reduction : all_reductions) {
        if (reduction == Reduction::Avg && is_integer(dtype)) continue;
        expect_reduced(ranks, dtype, reduction, 131, 1);
        expect_reduced(ranks, dtype, reduction, 131, 5);
      }
    }
    for (std::size_t count : {0u, 1u, 2u, 7u, 8u, 63u, 64u, 65u, 1000u}) {
      for (std::size_t block : {1u, 3u, 64u, 1000u}) {
        expect_reduced(ranks, Dtype::F32, Reduction::Sum, count, block);
        expect_reduced(ranks, Dtype::I64, Reduction::Max, count, block);
      }
    }
  }
}

TEST(Compaction, BlocksThatAreZeroOnAllRanksDoNotTravel) {
  for (std::size_t block : {1u, 10u}) {
    SketchRig rig(4);
    const auto inputs = drawn_inputs<float>(4, 1003, 0.01, 1);
    const auto outputs = rig.run(inputs, {"compaction", fmt::format("block={}", block)});
    for (const auto& output : outputs) EXPECT_EQ(output, sum_of_all(inputs));
    const double elements = static_cast<double>(union_of(inputs, block));
    EXPECT_EQ(rig.measure("union_elements"), elements);
    EXPECT_EQ(rig.measure("reduced"), elements);
    EXPECT_EQ(rig.measure("decoded"), 0);
    EXPECT_EQ(rig.measure("inexact"), 0);
  }
}

// Counters of 4 bits, by which others unite maps, would return to 0 at 16 ranks, and counters of 8 bits at 256.
TEST(Compaction, TheUnionIsRightForAnyNumberOfRanks) {
  for (Rank size : {2, 15, 16, 17, 32, 300}) {
    const auto ranks = static_cast<std::size_t>(size);
    SketchRig rig(size);
    Arrays<std::int32_t> inputs(ranks, std::vector<std::int32_t>(ranks + 16));
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      inputs[rank][3] = 1;  // all ranks
      inputs[rank][rank + 16] = static_cast<std::int32_t>(rank + 1);
      if (rank < 16) inputs[rank][5] = 2;
    }
    const auto outputs = rig.run(inputs, {"compaction"});
    for (const auto& output : outputs) ASSERT_EQ(output, sum_of_all(inputs)) << size;
    EXPECT_EQ(rig.measure("union_elements"), static_cast<double>(ranks + 2));
  }
}

TEST(Compaction, ValuesThatAreNotOrdinarySurvive) {
  constexpr float infinity = std::numeric_limits<float>::infinity(), tiny = std::numeric_limits<float>::denorm_min();
  SketchRig rig(3);
  Arrays<float> inputs(3, std::vector<float>(40));
  inputs[0][7] = std::numeric_limits<float>::quiet_NaN();
  inputs[1][9] = infinity;
  inputs[2][11] = tiny;
  for (auto& input : inputs) input[13] = -0.0f;
  const auto sums = rig.run(inputs, {"compaction"});
  EXPECT_TRUE(std::isnan(sums[2][7]));
  EXPECT_EQ(sums[2][9], infinity);
  EXPECT_EQ(sums[0][11], tiny);
  EXPECT_TRUE(std::signbit(sums[1][13]));
  EXPECT_EQ(rig.measure("union_elements"), 4);
  const auto least = rig.run(inputs, {.algorithm = "compaction", .reduction = Reduction::Min});
  EXPECT_TRUE(std::signbit(least[0][13]) && std::isnan(least[0][7]));
  Arrays<std::int32_t> integers(3, std::vector<std::int32_t>(9));
  integers[1][4] = std::numeric_limits<std::int32_t>::min();
  EXPECT_EQ(rig.run(integers, {"compaction"})[2], integers[1]);
}

TEST(Compaction, RoundedSumsHaveTheSameBitsOnAllRanksInAnyOrderOfMessages) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  Arrays<float> inputs(5, std::vector<float>(500));
  for (auto& one : inputs) {
    for (std::size_t i = 0; i < 500; i += 1 + random() % 4) one[i] = normal(random);
  }
  SketchRig calm(5);
  const auto expected = calm.run(inputs, {.algorithm = "compaction", .in_place = true});
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SketchRig rig(5, drawn_options(seed));
    const auto outputs = rig.run(inputs, {"compaction"});
    for (const auto& output : outputs) ASSERT_EQ(output, expected[0]) << seed;
  }
}

}  // namespace
}  // namespace lacuna::test
