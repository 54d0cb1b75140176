#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "algorithms/skip/skip.hpp"
#include "tests/bindings/cpp/facade_ranks.hpp"
#include "tests/support/skip_call.hpp"

namespace lacuna {
namespace {

using namespace test;

using Integers = std::vector<std::int64_t>;
using Gaps = std::vector<Gap>;

/// Does a gap of this rank hold the element?
bool is_missing(const Gaps& gaps, Rank from, std::size_t element) {
  return std::any_of(gaps.begin(), gaps.end(), [&](const Gap& gap) {
    return gap.from == from && element >= gap.offset && element - gap.offset < gap.count;
  });
}

/// Returns the gaps of this rank's output, after checking that they are sorted, and the same on all other ranks.
Gaps agreed_gaps(Communicator& rank, const CallRequest& request) {
  std::vector<std::int64_t> sums;
  Gaps mine;
  for (Rank at = 0; at < rank.size(); ++at) {
    const auto gaps = request.gaps(at);
    EXPECT_TRUE(gaps) << gaps.status().to_string();
    if (!gaps) return {};
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < gaps->size(); ++i) {
      const Gap& gap = (*gaps)[i];
      sum = sum * 31 + static_cast<std::int64_t>(gap.offset * 7 + gap.count * 3) + gap.from;
      EXPECT_GT(gap.count, 0u);
      if (i == 0 || (*gaps)[i - 1].from != gap.from) continue;
      EXPECT_LT((*gaps)[i - 1].offset + (*gaps)[i - 1].count, gap.offset) << "neighbours are one";
    }
    sums.push_back(sum % 1000003);
    if (at == rank.rank()) mine = *gaps;
  }
  Integers least(sums.size()), most(sums.size());
  EXPECT_TRUE(rank.call(allreduce<std::int64_t>(sums, least, Reduction::Min)));
  EXPECT_TRUE(rank.call(allreduce<std::int64_t>(sums, most, Reduction::Max)));
  EXPECT_EQ(least, most) << "all ranks know the same";
  return mine;
}

/// Makes one call of each rank's bit. Every rank's term must be in the result exactly where the rank has no gap.
void expect_gaps_of_sum(Communicator& rank, Collective collective, std::size_t count, const Options& options) {
  const auto size = static_cast<std::size_t>(rank.size());
  const bool scatters = collective == Collective::ReduceScatter;
  Integers input(scatters ? count * size : count, std::int64_t{1} << rank.rank()), output(count);
  auto request = rank.start(scatters ? reduce_scatter<std::int64_t>(input, output, Reduction::Sum, options)
                                     : allreduce<std::int64_t>(input, output, Reduction::Sum, options));
  ASSERT_TRUE(request) << request.status().to_string();
  const Gaps gaps = agreed_gaps(rank, *request);  // they are known from the start on
  ASSERT_TRUE(request->wait());
  for (std::size_t i = 0; i < count; i += 1 + i / 50) {
    for (Rank from = 0; from < rank.size(); ++from) {
      ASSERT_NE(output[i] >> from & 1, is_missing(gaps, from, i)) << to_string(collective) << " " << i << ", " << from;
    }
  }
}

TEST(GapsOfRequest, TellsWhoContributedToEachElement) {
  for (Rank size = 1; size <= 5; ++size) {
    auto ranks = local(size, Progress::Thread);
    on_each(ranks, [size](Communicator& rank) {
      for (SkipMode mode : {SkipMode::Static, SkipMode::Shuffled}) {
        for (int steps = 0; steps < size; ++steps) {
          Sampler sampler{.seed = 3, .key = 4};
          const Options options{
              .algorithm = "skip_ring", .method = lacuna::skip({.steps = steps, .mode = mode}), .sampler = &sampler};
          for (std::size_t count : {0, 1, 7, 400000}) {
            expect_gaps_of_sum(rank, Collective::Allreduce, count, options);
            expect_gaps_of_sum(rank, Collective::ReduceScatter, count / 4, options);
          }
        }
      }
    });
  }
}

TEST(GapsOfRequest, KnowsOfSegmentsAndOfSteps) {
  auto ranks = local(4, Progress::Thread);
  on_each(ranks, [](Communicator& rank) {
    std::vector<SkipSegment> segments;
    for (std::size_t i = 0; i < 6; ++i) {
      segments.push_back(
          {.offset = i * 1000, .count = 1000, .policy = i % 3 == 0 ? SkipPolicy::Never : SkipPolicy::Skip});
    }
    segments.push_back({.offset = 6000, .count = 3, .policy = SkipPolicy::Skip});  // small
    MethodState state{.sampler = {.seed = 1, .key = 2}};
    const Options options{.algorithm = "skip_ring",
                          .method = lacuna::skip({.steps = 1,
                                                  .mode = SkipMode::Shuffled,
                                                  .warm_up = 1,
                                                  .schedule = {{.from_run = 2, .steps = 3}},
                                                  .segments = segments}),
                          .state = &state};
    for (int run = 0; run < 4; ++run) expect_gaps_of_sum(rank, Collective::Allreduce, 6003, options);
  });
}

TEST(GapsOfRequest, TellsWhichBlocksOfAnAllgatherARankLacks) {
  auto ranks = local(5, Progress::Thread);
  on_each(ranks, [](Communicator& rank) {
    constexpr std::size_t block = 100000;
    Integers own(block, rank.rank()), all(5 * block, -1);
    const Options options{.method =
                              lacuna::skip({.steps = 2, .mode = SkipMode::Shuffled, .incomplete = true, .keep = true})};
    auto request = rank.start(allgather<std::int64_t>(own, all, options));
    ASSERT_TRUE(request) << request.status().to_string();
    ASSERT_TRUE(request->wait());
    const Gaps gaps = agreed_gaps(rank, *request);
    std::size_t lacking = 0;
    for (const Gap& gap : gaps) lacking += gap.count;
    EXPECT_EQ(lacking, 2 * block);
    for (std::size_t i = 0; i < all.size(); i += 97) {
      const auto owner = static_cast<Rank>(i / block);
      ASSERT_EQ(all[i], is_missing(gaps, owner, i) ? -1 : owner);
    }
  });
}

TEST(GapsOfRequest, OfADenseCallIsEmptyAndOfNoneAnError) {
  auto ranks = local(2, Progress::Thread);
  on_each(ranks, [](Communicator& rank) {
    std::vector<float> data(100);
    auto dense = rank.start(broadcast<float>(data, 0));
    ASSERT_TRUE(dense && dense->wait());
    EXPECT_EQ(*dense->gaps(0), Gaps());
    expect_error(dense->gaps(2).status(), Code::InvalidArgument, "rank is 2, must be 0 .. 1");
    expect_error(CallRequest().gaps(0).status(), Code::InvalidArgument, "only the request of a collective has gaps");
    const Options options{.algorithm = "skip_ring", .method = lacuna::skip({.steps = 1})};
    auto prepared = rank.prepare(allreduce<float>(data, data, Reduction::Sum, options));
    ASSERT_TRUE(prepared);
    expect_error(prepared->gaps(0).status(), Code::InvalidArgument, "has not been started");
    ASSERT_TRUE(prepared->start() && prepared->wait());
    EXPECT_EQ(prepared->gaps(0)->size(), 2u);
  });
}

}  // namespace
}  // namespace lacuna
