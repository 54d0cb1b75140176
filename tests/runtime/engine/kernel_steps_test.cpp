#include <gtest/gtest.h>

#include <random>

#include "tests/support/calls.hpp"
#include "tests/support/delayed_compute.hpp"
#include "tests/support/guarded_compute.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/sparse_sum.hpp"

namespace lacuna::test {
namespace {

using Numbers = std::vector<std::int64_t>;

/// The inputs of all ranks: few of the numbers are not zero, and on every third rank none.
std::vector<Numbers> sparse_inputs(Rank size, std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Numbers> inputs;
  for (Rank rank = 0; rank < size; ++rank) {
    Numbers& input = inputs.emplace_back(count, 0);
    if (rank % 3 == 2) continue;
    for (std::int64_t& number : input) {
      if (random() % 5 == 0) number = static_cast<std::int64_t>(random() % 19) - 9;
    }
  }
  return inputs;
}

std::size_t present(const Numbers& numbers) {
  return numbers.size() - static_cast<std::size_t>(std::count(numbers.begin(), numbers.end(), 0));
}

/// Calls of sparse_sum on all ranks.
struct Job {
  Job(std::vector<Numbers> all, SparseSum asked)
      : inputs(std::move(all)), outputs(inputs.size(), Numbers(inputs[0].size(), 77)), options(inputs.size(), asked) {}

  Call call(std::size_t rank) {
    Call call{.collective = Collective::Allreduce,
              .input = inputs[rank].data(),
              .output = outputs[rank].data(),
              .count = inputs[rank].size(),
              .dtype = Dtype::I64};
    call.options.method = sparse_sum_options(options[rank]);
    return call;
  }
  /// Posts on all ranks, and sweeps until all have ended.
  std::vector<Status> run(Ranks& ranks) {
    for (Rank rank = 0; rank < ranks.size(); ++rank) {
      auto posted = ranks.communicator(rank).post(call(static_cast<std::size_t>(rank)), sparse_sum);
      EXPECT_TRUE(posted) << posted.status().to_string();
      runs.push_back(*posted);
    }
    EXPECT_TRUE(ranks.sweep_until([&] {
      return std::all_of(runs.begin(), runs.end(), [](const auto* one) { return one->finished; });
    })) << ranks.waiting_for(runs);
    std::vector<Status> ends;
    for (const runtime::Run* one : runs) ends.push_back(one->status);
    return ends;
  }

  std::vector<Numbers> inputs, outputs;
  std::vector<SparseSum> options;
  std::vector<runtime::Run*> runs;
};

struct Condition {
  const char* name;
  void (*change)(RanksOptions&);
};

class KernelSteps : public testing::TestWithParam<Condition> {};

TEST_P(KernelSteps, MessagesOfCarriedLengthAndPartsThatFollowGiveTheOraclesNumbers) {
  for (Rank size = 1; size <= 9; ++size) {
    for (std::size_t count : {0u, 1u, 7u, 300u}) {
      for (const std::int64_t most : {std::int64_t{1'000'000}, std::int64_t{20}, std::int64_t{-1}}) {
        RanksOptions options{.executor = quick_executor()};
        GetParam().change(options);
        Ranks ranks(size, options);
        Job job(sparse_inputs(size, count, static_cast<std::uint32_t>(count) + 7), {.most = most});
        for (const Status& end : job.run(ranks)) ASSERT_TRUE(end) << end.to_string();
        const Numbers expected = sparse_sum_of(job.inputs, most, runtime::as_collective(*job.runs[0]).parts);
        for (const Numbers& output : job.outputs) ASSERT_EQ(output, expected) << size << " ranks, " << count;
        for (Rank rank = 0; rank < size; ++rank) ASSERT_EQ(ranks.executor(rank).landings().in_use(), 0u);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    , KernelSteps,
    testing::Values(Condition{"Eager", [](RanksOptions&) {}},
                    Condition{"Fragments", [](RanksOptions& o) { o.network.eager_limit = 64; }},
                    Condition{"Fetched", [](RanksOptions& o) { o.executor.eager_bytes = 0; }},
                    Condition{"DrawnOrder",
                              [](RanksOptions& o) {
                                o.network = {.seed = 5, .sends = InprocOptions::Sends::Referenced, .eager_limit = 64};
                                o.executor.credit_bytes = 2000;
                                o.executor.window_bytes = 300;
                              }},
                    Condition{"ManyParts",
                              [](RanksOptions& o) {
                                o.network.seed = 9;
                                o.executor.chunk_bytes = 64;
                                o.executor.parts_in_flight = 3;
                              }},
                    Condition{"GuardedCompute", [](RanksOptions& o) { o.executor.compute = guarded_compute; }},
                    Condition{"DelayedCompute",
                              [](RanksOptions& o) {
                                o.network.seed = 2;
                                o.executor.compute = delayed_compute;
                                o.executor.chunk_bytes = 64;
                              }}),
    [](const auto& one) { return one.param.name; });

TEST(Kernels, ReportsCountTheBytesThatWentAndWhatKernelsCounted) {
  constexpr Rank size = 4;
  Ranks ranks(size);
  Job job(sparse_inputs(size, 200, 3), {});
  for (const Status& end : job.run(ranks)) ASSERT_TRUE(end) << end.to_string();
  for (Rank rank = 0; rank < size; ++rank) {
    const auto me = static_cast<std::size_t>(rank);
    const Report report = ranks.communicator(rank).report(*job.runs[me]);
    EXPECT_EQ(report.sent, ranks.counters(rank).payload_sent);
    EXPECT_EQ(report.sent, (size - 1) * 16 * present(job.inputs[me]));
    EXPECT_EQ(report.measures.value("selected"), static_cast<double>(present(job.inputs[me])));
    EXPECT_EQ(report.measures.value("selections"), 1);
    EXPECT_EQ(report.rounds, 1);
  }
}

TEST(Kernels, APartThatFollowsAddsItsRounds) {
  Ranks ranks(3);
  Job job(sparse_inputs(3, 50, 3), {.most = -1});
  for (const Status& end : job.run(ranks)) ASSERT_TRUE(end) << end.to_string();
  EXPECT_EQ(ranks.communicator(0).report(*job.runs[0]).rounds, 2);
}

TEST(Kernels, ARepeatedCallKeepsNoMemory) {
  Ranks ranks(3);
  for (int i = 0; i < 100; ++i) {
    Job job(sparse_inputs(3, 100, static_cast<std::uint32_t>(i)), {.most = 10});
    for (const Status& end : job.run(ranks)) ASSERT_TRUE(end) << end.to_string();
    ASSERT_EQ(job.outputs[0], sparse_sum_of(job.inputs, 10));
    for (Rank rank = 0; rank < 3; ++rank) {
      ranks.communicator(rank).release(*job.runs[static_cast<std::size_t>(rank)]);
    }
  }
}

TEST(Kernels, APartThatFollowsOnOneRankOnlyIsAMismatchThere) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Ranks ranks(3, {.network = {.seed = seed}, .executor = quick_executor()});
    Job job(sparse_inputs(3, 50, 3), {.most = -1});
    job.options[1].stays = true;
    for (Rank rank = 0; rank < 3; ++rank) {
      job.runs.push_back(*ranks.communicator(rank).post(job.call(static_cast<std::size_t>(rank)), sparse_sum));
    }
    ranks.sweep_until([] { return false; });
    const Status said = ranks.communicator(1).status();
    EXPECT_EQ(said.code(), Code::Mismatch) << "seed " << seed;
    EXPECT_NE(said.message().find("rank 0 sent message 0 of part 1 of call 0"), std::string::npos) << said.message();
    for (Rank rank = 0; rank < 3; ++rank) ranks.communicator(rank).fail({Code::Internal, "the test ends"});
  }
}

}  // namespace
}  // namespace lacuna::test
