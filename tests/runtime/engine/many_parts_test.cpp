#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/support/parts_method.hpp"
#include "tests/support/ranks.hpp"

// These plans have as many parts as a method wants.
namespace lacuna::test {
namespace {

using Numbers = std::vector<std::int32_t>;

/// A call of parts_method on two ranks.
struct Job {
  explicit Job(std::size_t count) : inputs(2, Numbers(count)), outputs(2, Numbers(count, -1)) {
    for (Numbers& input : inputs) std::iota(input.begin(), input.end(), 1);
  }

  Result<runtime::Run*> post(Ranks& ranks, Rank rank, const Parts& asked) {
    const auto me = static_cast<std::size_t>(rank);
    Call call{.collective = Collective::Allreduce,
              .input = inputs[me].data(),
              .output = outputs[me].data(),
              .count = inputs[me].size(),
              .dtype = Dtype::I32};
    call.options.method = parts_options(asked);
    return ranks.communicator(rank).post(call, parts_algorithm);
  }

  std::vector<Numbers> inputs, outputs;
};

TEST(ManyParts, APlanOfMorePartsThanSixteenBitsNumberSumsEachElement) {
  Ranks ranks(2);
  Job job(65'536 + 100);
  const Parts each = {.parts = job.inputs[0].size()};
  const runtime::Run* runs[] = {*job.post(ranks, 0, each), *job.post(ranks, 1, each)};
  ASSERT_TRUE(ranks.sweep_until([&] { return runs[0]->finished && runs[1]->finished; }));
  for (const runtime::Run* run : runs) ASSERT_TRUE(run->status) << run->status.to_string();
  Numbers expected(job.inputs[0].size());
  std::iota(expected.begin(), expected.end(), 1);
  for (std::int32_t& number : expected) number *= 2;
  EXPECT_EQ(job.outputs, std::vector<Numbers>(2, expected));
}

TEST(ManyParts, ThePlanSaysHowManyAreInFlightAndElseTheConfiguration) {
  struct Case {
    std::uint32_t asked;
    std::size_t in_flight;
  };
  for (const auto& [asked, in_flight] : {Case{0, 4}, Case{1, 1}, Case{3, 3}, Case{9, 9}, Case{10, 10}, Case{11, 10}}) {
    runtime::ExecutorOptions options = quick_executor();
    options.parts_in_flight = 4;
    Ranks ranks(2, {.executor = options});
    Job job(10);
    const Parts parts{.parts = 10, .in_flight = asked};
    const runtime::Run& first = **job.post(ranks, 0, parts);
    ranks.sweep_until([] { return false; });  // now rank 0 waits for rank 1
    EXPECT_EQ(first.active.size(), in_flight) << asked;
    const runtime::Run& second = **job.post(ranks, 1, parts);
    EXPECT_TRUE(ranks.sweep_until([&] { return first.finished && second.finished; }));
    EXPECT_TRUE(first.status && second.status) << first.status.to_string();
  }
}

TEST(ManyParts, MessagesMayComeBeforeTheFirstPartsBeginAlsoIfOthersMayFollowThem) {
  for (const bool asks : {false, true}) {
    Ranks ranks(2);
    Job job(100);
    const Parts parts{.parts = 10, .in_flight = 5, .asks = asks};
    const runtime::Run& first = **job.post(ranks, 0, parts);
    ranks.sweep_until([] { return false; });  // the messages of five parts wait at rank 1
    const runtime::Run& second = **job.post(ranks, 1, parts);
    EXPECT_TRUE(ranks.sweep_until([&] { return first.finished && second.finished; }));
    EXPECT_TRUE(first.status && second.status) << second.status.to_string();
  }
}

TEST(ManyParts, ACallThatIsStartedAgainHasAsManyInFlightAsItsNewPlanSays) {
  Ranks ranks(2);
  for (const std::uint32_t in_flight : {5u, 0u}) {  // the second call uses the memory of the first one again
    Job job(10);
    runtime::Run* runs[] = {*job.post(ranks, 0, {.parts = 10, .in_flight = in_flight}), nullptr};
    EXPECT_EQ(runs[0]->active.size(), in_flight > 0 ? in_flight : quick_executor().parts_in_flight);
    runs[1] = *job.post(ranks, 1, {.parts = 10, .in_flight = in_flight});
    ASSERT_TRUE(ranks.sweep_until([&] { return runs[0]->finished && runs[1]->finished; }));
    for (Rank rank : {0, 1}) ranks.communicator(rank).release(*runs[rank]);
  }
}

TEST(ManyParts, MoreInFlightThanAllowedAreRefusedWithBothNumbers) {
  Ranks ranks(2);
  Job job(10);
  for (Rank rank : {0, 1}) {
    const runtime::Run& run = **job.post(ranks, rank, {.parts = 10, .in_flight = most_parts_in_flight + 1});
    EXPECT_EQ(run.status.message(),
              fmt::format("rank {}: the plan asks for 1048577 parts in flight, at most 1048576 are allowed", rank));
  }
  Ranks others(2);
  EXPECT_FALSE((*job.post(others, 0, {.parts = 10, .in_flight = most_parts_in_flight}))->finished);
  others.communicator(0).fail({Code::Internal, "the test ends"});
}

TEST(ManyParts, RanksWhosePlansDifferInThePartsInFlightAreTold) {
  Ranks ranks(2);
  Job job(10);
  const runtime::Run* runs[] = {*job.post(ranks, 0, {.parts = 10, .in_flight = 3}),
                                *job.post(ranks, 1, {.parts = 10, .in_flight = 4})};
  ranks.sweep_until([&] { return runs[0]->finished || runs[1]->finished; });
  EXPECT_TRUE(runs[0]->status.code() == Code::Mismatch || runs[1]->status.code() == Code::Mismatch);
  for (Rank rank : {0, 1}) ranks.communicator(rank).fail({Code::Internal, "the test ends"});
}

}  // namespace
}  // namespace lacuna::test
