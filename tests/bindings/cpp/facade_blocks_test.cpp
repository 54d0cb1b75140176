#include <gtest/gtest.h>

#include <optional>

#include "tests/bindings/cpp/facade_ranks.hpp"

namespace lacuna {
namespace {

using namespace test;

using Sizes = std::vector<std::size_t>;
using Ints = std::vector<std::int32_t>;

class FacadeBlocks : public testing::TestWithParam<Progress> {};
INSTANTIATE_TEST_SUITE_P(, FacadeBlocks, testing::Values(Progress::Caller, Progress::Thread),
                         [](const auto& given) { return std::string(to_string(given.param)); });

/// Rank r has r elements of value r. Blocks lie one behind the other.
const Sizes lengths = {0, 1, 2};
const Ints everything = {1, 2, 2};

TEST_P(FacadeBlocks, TypedCallsCarryOutTheirCollective) {
  auto ranks = local(3, GetParam());
  on_each(ranks, [](Communicator& rank) {
    const auto me = static_cast<std::size_t>(rank.rank());
    const Ints mine(me, rank.rank());
    Ints all(3), own(me);
    EXPECT_EQ(rank.call(allgatherv<std::int32_t>(mine, all, {.counts = lengths})).to_string(), "ok");
    EXPECT_EQ(all, everything);
    EXPECT_EQ(rank.call(reduce_scatterv<std::int32_t>(all, {.counts = lengths}, own)).to_string(), "ok");
    EXPECT_EQ(own, Ints(me, 3 * rank.rank()));
    all.assign(3, -1);
    EXPECT_EQ(rank.call(gatherv<std::int32_t>(mine, all, {.counts = lengths}, 2)).to_string(), "ok");
    EXPECT_EQ(all, me == 2 ? everything : Ints(3, -1));
    EXPECT_EQ(rank.call(scatterv<std::int32_t>(everything, {.counts = lengths}, own, 1)).to_string(), "ok");
    EXPECT_EQ(own, mine);
  });
}

TEST_P(FacadeBlocks, AlltoallvTellsWhatItHasReceived) {
  auto ranks = local(3, GetParam());
  on_each(ranks, [](Communicator& rank) {
    const Ints mine(3, rank.rank());
    const Sizes most = {2, 2, 2}, places = {0, 2, 4};
    Sizes received(3);
    Ints all(6, -1);
    const Blocks to{.counts = most, .offsets = places, .received = received};
    EXPECT_EQ(rank.call(alltoallv<std::int32_t>(mine, {.counts = lengths}, all, to)).to_string(), "ok");
    EXPECT_EQ(received, Sizes(3, lengths[static_cast<std::size_t>(rank.rank())]));
    for (std::size_t source = 0; source < 3; ++source) {
      for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(all[2 * source + i], i < received[source] ? static_cast<std::int32_t>(source) : -1);
      }
    }
  });
}

TEST_P(FacadeBlocks, SpansMayBeLongerThanTheirBlocksButNotShorter) {
  auto ranks = local(1, GetParam());
  const Sizes counts = {2}, offsets = {1};
  Ints two = {1, 2}, four(4);
  const Blocks blocks{.counts = counts, .offsets = offsets};
  EXPECT_EQ(ranks[0].call(allgatherv<std::int32_t>(two, four, blocks)).to_string(), "ok");
  EXPECT_EQ(four, (Ints{0, 1, 2, 0}));
  expect_error(ranks[0].call(allgatherv<std::int32_t>(two, std::span(four).first(2), blocks)), Code::InvalidArgument,
               "the output has 2 elements, must have 3 or more");
  expect_error(ranks[0].call(allgatherv<std::int32_t>(std::span(two).first(1), four, blocks)), Code::InvalidArgument,
               "the own block has 1 element in the input and 2 in the output");
}

TEST_P(FacadeBlocks, TooLongABlockIsAnErrorOnAllRanks) {
  auto ranks = local(3, GetParam());
  on_each(ranks, [](Communicator& rank) {
    Ints mine(rank.rank() == 2 ? 3 : 2, 1), all(6);
    const Sizes counts = {2, 2, 2};
    static_cast<void>(rank.call(gatherv<std::int32_t>(mine, all, {.counts = counts})));
    const std::string says = "rank 2 sent 3 elements of i32 where rank 0 expects 2";
    expect_error(rank.call(barrier()), Code::Mismatch, says);  // a rank that only sends may have ended well before
    expect_error(rank.status(), Code::Mismatch, "rank 0 reports");
  });
}

/// Returns what rank 0 of two is told about a call whose ranks give these many elements. Its peer's message comes first
/// or not.
Status told(const Call& mine, const Call& theirs, bool theirs_first) {
  auto ranks = local(2, Progress::Caller);
  std::optional<Request> requests[2];
  for (std::size_t rank : {theirs_first, !theirs_first}) {
    auto started = ranks[rank].start(rank == 0 ? mine : theirs);
    EXPECT_TRUE(started) << started.status().to_string();
    if (started) requests[rank].emplace(*std::move(started));
    for (int round = 0; round < 100; ++round) ranks[round % 2].progress();
  }
  return ranks[0].call(barrier());
}

TEST(FacadeLengths, ThatDoNotFitAreSaidInElementsWhicheverRankComesFirst) {
  const Sizes given = {1, 2}, taken = {1, 3}, places = {0, 1};
  Ints all(8), own(8);
  Sizes received(2);
  const Call gathers{.collective = Collective::Gatherv,
                     .input = own.data(),
                     .output = all.data(),
                     .count = 1,
                     .dtype = Dtype::I32,
                     .output_blocks = {.counts = given}};
  Call sends = gathers, scatters = gathers, takes = gathers, gathers_most = gathers;
  sends.count = 3;
  gathers_most.output_blocks = {.counts = given, .offsets = places, .received = received};
  scatters.collective = takes.collective = Collective::Scatterv;
  scatters.root = takes.root = 1;
  scatters.output_blocks = {};
  takes.count = 3;
  takes.output_blocks = {};
  takes.input_blocks = {.counts = taken};
  for (bool theirs_first : {false, true}) {
    expect_error(told(gathers, sends, theirs_first), Code::Mismatch,
                 "rank 1 sent 3 elements of i32 where rank 0 expects 2");
    expect_error(told(gathers_most, sends, theirs_first), Code::Mismatch,
                 "rank 1 sent 3 elements of i32 where rank 0 expects at most 2");
    scatters.count = 2;
    expect_error(told(scatters, takes, theirs_first), Code::Mismatch,
                 "rank 1 sent 1 element of i32 where rank 0 expects 2");
  }
}

TEST_P(FacadeBlocks, DifferentTablesAreNamedOnAllRanks) {
  auto ranks = local(2, GetParam());
  on_each(ranks, [](Communicator& rank) {
    const Sizes counts[] = {{2, 2}, {1, 2}};
    Ints mine(2, 1), all(4);
    const auto me = static_cast<std::size_t>(rank.rank());
    expect_error(rank.call(allgatherv<std::int32_t>(mine, all, {.counts = counts[me]})), Code::Mismatch,
                 "rank 0 posted allgatherv ring i32 blocks of 4 (table ");
    expect_error(rank.status(), Code::Mismatch, "rank 1 posted allgatherv ring i32 blocks of 3 (table ");
  });
}

}  // namespace
}  // namespace lacuna
