#include <bit>
#include <utility>

#include "algorithms/blocks/block_size.hpp"
#include "tests/algorithms/blocks/blocks_rig.hpp"

// How long blocks are where the options leave it open.
namespace lacuna::test {
namespace {

/// Inputs in which runs of `run` elements are not zero, at multiples of their length, one in `every`.
std::vector<Elements> inputs_of_runs(const BlocksCall& call, std::size_t run, std::size_t every, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Elements> inputs(call.ranks(), Elements(call.count));
  for (Elements& input : inputs) {
    for (std::size_t begin = 0; begin < call.count; begin += run) {
      if (random() % every != 0) continue;
      for (std::size_t i = begin; i < std::min(begin + run, call.count); ++i) input[i] = oracle::to_bits(1.0F);
    }
  }
  return inputs;
}

/// The length of blocks in each of some runs of one state.
std::vector<double> lengths_of(BlocksRig& rig, std::size_t run, std::size_t every, int runs) {
  std::vector<double> lengths;
  for (int i = 0; i < runs; ++i) {
    rig.expect(inputs_of_runs(rig.call, run, every, static_cast<unsigned>(i)), "auto");
    if (testing::Test::HasFatalFailure()) return lengths;
    for (const Report& report : rig.reports) {
      EXPECT_EQ(report.measures.value("block"), rig.reports[0].measures.value("block")) << "equal on all ranks";
    }
    lengths.push_back(rig.reports[0].measures.value("block"));
  }
  return lengths;
}

BlocksCall open_call(Rank size, std::size_t count, std::string more = "") {
  return {.size = size, .count = count, .block = 0, .more = std::move(more)};
}

TEST(BlocksSize, FollowsTheRunsOfElementsThatAreNotZero) {
  struct Case {
    std::size_t run, every;
    double length;
  };
  for (const Case& one : {Case{16, 20, 16}, {64, 20, 64}, {512, 20, 512}, {300, 1, 4096}}) {
    for (Rank size : {1, 3, 4}) {
      BlocksRig rig(open_call(size, 1 << 15), in_one_part());
      const std::vector<double> expected = {16, one.length, one.length};
      EXPECT_EQ(lengths_of(rig, one.run, one.every, 3), expected) << "P=" << size;
    }
  }
}

TEST(BlocksSize, IsTheUsualOneWhereNothingWasThereToCount) {
  BlocksRig rig(open_call(3, 1000));
  for (double length : {16.0, 256.0}) {
    ASSERT_EQ(rig.run(std::vector<Elements>(3, Elements(1000))), "");
    EXPECT_EQ(rig.reports[0].measures.value("block"), length);
  }
}

TEST(BlocksSize, IsCountedOverAllPartsAndWithAnyOwners) {
  for (const char* more : {"", ",aggregators=2", ",threshold=0.5"}) {
    RanksOptions options = drawn_options(3);
    options.executor.chunk_bytes = 4096;
    BlocksRig rig(open_call(4, 1 << 16, more), options);
    EXPECT_EQ(lengths_of(rig, 128, 10, 3), (std::vector<double>{16, 128, 128})) << more;
  }
}

/// How many parts the first run of a state has, and the numbers of those that count.
std::pair<std::size_t, std::vector<std::size_t>> counting_parts(std::size_t count, std::size_t chunk_bytes) {
  MethodState state;
  Call call{.collective = Collective::Allreduce, .count = count};
  call.options.method = *method_options("blocks");
  call.options.state = &state;
  Plan plan;
  make_plan({call, block::allreduce, Hosts(2), chunk_bytes}, plan);
  std::vector<std::size_t> counting;
  for (std::size_t i = 0; i < plan.parts.size(); ++i) {
    if (plan.parts[i].structure.parameters.as<block::Form>().counts) counting.push_back(i);
  }
  return {plan.parts.size(), counting};
}

TEST(BlocksSize, IsCountedInAtMost64PartsAtEqualDistances) {
  for (const std::size_t parts : {1u, 2u, 63u, 64u, 65u, 128u, 129u, 1000u, 16384u}) {
    const auto [all, counting] = counting_parts(16 * parts, 32 * parts / std::bit_ceil(parts));
    EXPECT_EQ(all, parts);
    EXPECT_LE(counting.size(), 64u) << parts;
    EXPECT_GE(counting.size(), std::min<std::size_t>(parts, 33)) << parts;
    for (std::size_t i = 0; i < counting.size(); ++i) EXPECT_EQ(counting[i], i * ((parts + 63) / 64)) << parts;
  }
}

TEST(BlocksSize, FollowsTheDataAlsoWhereNotAllPartsCount) {
  for (const std::size_t parts : {64u, 128u, 1024u}) {
    RanksOptions options = drawn_options(4);
    options.executor.chunk_bytes = 512;
    BlocksRig rig(open_call(2, 256 * parts), options);
    EXPECT_EQ(lengths_of(rig, 64, 10, 2), (std::vector<double>{16, 64})) << parts;
    EXPECT_EQ(rig.reports[0].parts.size(), parts);
  }
}

TEST(BlocksSize, IsCountedAgainEvery32Runs) {
  BlocksRig rig(open_call(2, 4096), in_one_part());
  const std::vector<double> early = lengths_of(rig, 32, 8, 32), late = lengths_of(rig, 256, 4, 2);
  EXPECT_EQ(early[31], 32);
  EXPECT_EQ(late, (std::vector<double>{16, 256}));
}

TEST(BlocksSize, IsTheUsualOneWithoutAStateAndWhereNobodyCanCount) {
  MethodState state;
  Call call{.collective = Collective::Allreduce, .count = 4096};
  call.options.method = *method_options("blocks");
  const auto expect_usual = [&](const PlanRequest& request) {
    EXPECT_EQ(block::length_of_next(request), 256u);
    EXPECT_FALSE(block::counts_next(request));
  };
  expect_usual({.call = call, .algorithm = block::allreduce, .hosts = Hosts(2)});
  call.options.state = &state;
  EXPECT_TRUE(block::counts_next({.call = call, .algorithm = block::allreduce, .hosts = Hosts(2)}));
  expect_usual({.call = call, .algorithm = block::streamed_allreduce, .hosts = Hosts(2)});
  expect_usual({.call = call, .algorithm = block::allreduce, .hosts = Hosts(3), .aggregators = 1});
}

TEST(BlocksSize, OfAStateThatHasCountedServesTheStreamedFormToo) {
  BlocksRig rig(open_call(3, 1 << 13));
  EXPECT_EQ(lengths_of(rig, 64, 10, 2).back(), 64);
  rig.call.algorithm = "streamed_blocks";
  EXPECT_EQ(lengths_of(rig, 64, 10, 1).back(), 64);
}

}  // namespace
}  // namespace lacuna::test
