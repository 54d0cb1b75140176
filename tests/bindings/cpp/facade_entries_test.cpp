#include <gtest/gtest.h>

#include "algorithms/blocks/blocks.hpp"
#include "algorithms/topk/topk.hpp"
#include "tests/bindings/cpp/facade_ranks.hpp"

namespace lacuna {
namespace {

using namespace test;

class FacadeEntries : public testing::TestWithParam<Progress> {};
INSTANTIATE_TEST_SUITE_P(, FacadeEntries, testing::Values(Progress::Caller, Progress::Thread),
                         [](const auto& given) { return std::string(to_string(given.param)); });

/// Returns options that lose nothing.
Options lossless() { return {.method = topk({.density = 1, .feedback = false})}; }

TEST_P(FacadeEntries, AnAllreduceTakesThemAndGivesThem) {
  auto ranks = local(3, GetParam());
  on_each(ranks, [](Communicator& rank) {
    const auto me = static_cast<std::uint32_t>(rank.rank());
    const std::vector<std::uint32_t> places = {7, me};
    const std::vector<double> values = {2, static_cast<double>(me + 1)};
    std::vector<double> sum(10, -1), expected(10);
    const SparseInput<double> input(places, values, 10);
    EXPECT_EQ(rank.call(allreduce(input, sum, Reduction::Sum, lossless())).to_string(), "ok");
    expected[0] = 1, expected[1] = 2, expected[2] = 3, expected[7] = 6;
    EXPECT_EQ(sum, expected);

    std::vector<std::uint32_t> found(10);
    std::vector<double> sums(10);
    std::size_t entries = 0;
    const SparseOutput<double> output(found, sums, 10, entries);
    EXPECT_EQ(rank.call(allreduce(input, output, Reduction::Sum, lossless())).to_string(), "ok");
    found.resize(entries);
    sums.resize(entries);
    EXPECT_EQ(found, (std::vector<std::uint32_t>{0, 1, 2, 7}));
    EXPECT_EQ(sums, (std::vector<double>{1, 2, 3, 6}));
  });
}

TEST_P(FacadeEntries, ShardsTakeAndGiveThem) {
  auto ranks = local(2, GetParam());
  on_each(ranks, [](Communicator& rank) {
    const std::vector<std::uint32_t> places = {0, 3, 5};
    const std::vector<float> values = {1, 2, 3};
    std::vector<float> block(3, -1), all(6, -1);
    EXPECT_EQ(
        rank.call(reduce_scatter(SparseInput<float>(places, values, 6), block, Reduction::Avg, lossless())).to_string(),
        "ok");
    EXPECT_EQ(block, rank.rank() == 0 ? (std::vector<float>{1, 0, 0}) : (std::vector<float>{2, 0, 3}));
    EXPECT_EQ(rank.call(allgather(block, all, lossless())).to_string(), "ok");
    EXPECT_EQ(all, (std::vector<float>{1, 0, 0, 2, 0, 3}));
  });
}

TEST_P(FacadeEntries, AnEmptyInputIsOneOfEntriesToo) {
  auto ranks = local(2, GetParam());
  on_each(ranks, [](Communicator& rank) {
    std::vector<float> sum(4, -1);
    EXPECT_EQ(rank.call(allreduce(SparseInput<float>({}, {}, 4), sum, Reduction::Sum, lossless())).to_string(), "ok");
    EXPECT_EQ(sum, std::vector<float>(4));
  });
}

TEST_P(FacadeEntries, OfBlocksAreRows) {
  auto ranks = local(3, GetParam());
  on_each(ranks, [](Communicator& rank) {
    const auto me = static_cast<std::uint32_t>(rank.rank());
    const std::vector<std::uint32_t> places = {4, me, 4};
    const std::vector<std::int64_t> values = {1, 2, static_cast<std::int64_t>(me), 10, 100, 200};
    const SparseInput<std::int64_t> input(places, values, 10);
    std::vector<std::uint32_t> found(5);
    std::vector<std::int64_t> sums(10);
    std::size_t entries = 0;
    const SparseOutput<std::int64_t> output(found, sums, 10, entries);
    const Options rows{.method = sparse_blocks({.block = 2})};
    EXPECT_EQ(rank.call(allreduce(input, output, Reduction::Sum, rows)).to_string(), "ok");
    found.resize(entries);
    sums.resize(2 * entries);
    EXPECT_EQ(found, (std::vector<std::uint32_t>{0, 1, 2, 4}));
    EXPECT_EQ(sums, (std::vector<std::int64_t>{0, 10, 1, 10, 2, 10, 303, 606}));
  });
}

TEST(FacadeEntriesRefusals, EntriesAreAsLongAsTheMethodSays) {
  auto ranks = local(1, Progress::Caller);
  const std::vector<std::uint32_t> places = {1, 2};
  const std::vector<float> values = {1, 2, 3, 4};
  std::vector<float> sum(6);
  const Options rows{.method = sparse_blocks({.block = 3})};
  expect_error(ranks[0].call(allreduce(SparseInput<float>(places, values, 6), sum, Reduction::Sum, rows)),
               Code::InvalidArgument,
               "allreduce: an entry of the input has 2 elements, blocks:block=3 takes entries of 3");
  std::vector<std::uint32_t> found(2);
  std::vector<float> sums(2);
  std::size_t entries = 0;
  const SparseOutput<float> output(found, sums, 6, entries);
  expect_error(ranks[0].call(allreduce(sum, output, Reduction::Sum, rows)), Code::InvalidArgument,
               "allreduce: an entry of the output has 1 element, blocks:block=3 takes entries of 3");
}

TEST(FacadeEntriesRefusals, EachPlaceNeedsAsManyValues) {
  std::vector<std::uint32_t> places(3);
  std::vector<float> values(2);
  std::size_t entries = 0;
  EXPECT_THROW(SparseInput<float>(places, values, 9), std::invalid_argument);
  EXPECT_THROW(SparseOutput<float>(places, values, 9, entries), std::invalid_argument);
}

TEST(FacadeEntriesRefusals, LengthsThatDoNotFitTogetherAreAnError) {
  auto ranks = local(1, Progress::Caller);
  const std::vector<std::uint32_t> places = {1};
  const std::vector<float> values = {1};
  std::vector<float> sum(4);
  expect_error(ranks[0].call(allreduce(SparseInput<float>(places, values, 5), sum, Reduction::Sum, lossless())),
               Code::InvalidArgument, "the input has 5 elements, must have 4");
}

}  // namespace
}  // namespace lacuna
