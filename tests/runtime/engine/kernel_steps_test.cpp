#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "kernels/elements.hpp"
#include "runtime/engine/wire.hpp"
#include "runtime/job/local_watch.hpp"
#include "tests/support/delayed_compute.hpp"
#include "tests/support/lone_rank.hpp"
#include "tests/support/sparse_sum.hpp"

namespace lacuna::test {
namespace {

using Numbers = std::vector<std::int64_t>;

/// Of each rank: few of its numbers are not zero, none on every third rank.
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

INSTANTIATE_TEST_SUITE_P(, KernelSteps,
                         testing::Values(Condition{"Eager", [](RanksOptions&) {}},
                                         Condition{"Fragments", [](RanksOptions& o) { o.network.eager_limit = 64; }},
                                         Condition{"Fetched", [](RanksOptions& o) { o.executor.eager_bytes = 0; }},
                                         Condition{"DrawnOrder",
                                                   [](RanksOptions& o) {
                                                     o.network = {.seed = 5,
                                                                  .sends = InprocOptions::Sends::Referenced,
                                                                  .eager_limit = 64};
                                                     o.executor.credit_bytes = 2000;
                                                     o.executor.window_bytes = 300;
                                                   }},
                                         Condition{"ManyParts",
                                                   [](RanksOptions& o) {
                                                     o.network.seed = 9;
                                                     o.executor.chunk_bytes = 64;
                                                     o.executor.parts_in_flight = 3;
                                                   }},
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
    EXPECT_EQ(report.selected, present(job.inputs[me]));
    EXPECT_EQ(report.numbers[0], 1);
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

/// Rank 0, and what rank 1 sends it for sparse_sum.
struct Deceived {
  explicit Deceived(std::size_t count) : input(count, 1), output(count) {
    call.collective = Collective::Allreduce;
    call.input = input.data();
    call.output = output.data();
    call.count = count;
    call.dtype = Dtype::I64;
    call.options.method = sparse_sum_options();
    run = *job.communicator.post(call, sparse_sum);
    job.progress();
  }
  void arrive(const Numbers& pairs) {
    runtime::MessageHeader header = job.header_of(0, 8 * pairs.size());
    job.wire.arrive(1, header, std::as_bytes(std::span(pairs)), Delivery::Eager);
    job.progress();
  }

  LoneRank job;
  Numbers input, output;
  Call call;
  runtime::Run* run = nullptr;
};

TEST(Kernels, AMessageLongerThanWhatMayComeIsRefusedByName) {
  Deceived rank(3);
  rank.arrive(Numbers(8, 0));
  EXPECT_EQ(rank.job.communicator.status().code(), Code::Mismatch);
  EXPECT_NE(rank.job.communicator.status().message().find("rank 1 sent"), std::string::npos);
  EXPECT_NE(rank.job.communicator.status().message().find("where rank 0 expects at most 6"), std::string::npos)
      << rank.job.communicator.status().message();
}

TEST(Kernels, AMessageOfNoWholeElementsIsRefused) {
  Deceived rank(3);
  const runtime::MessageHeader header = rank.job.header_of(0, 12);
  const Numbers bytes(2, 0);
  rank.job.wire.arrive(1, header, std::as_bytes(std::span(bytes)).first(12), Delivery::Eager);
  rank.job.progress();
  EXPECT_EQ(rank.job.communicator.status().code(), Code::Mismatch);
}

TEST(Kernels, WhatAKernelFindsWrongEndsTheCallWithItsText) {
  Deceived rank(3);
  rank.arrive({9, 1});
  rank.job.progress();
  ASSERT_TRUE(rank.run->finished);
  EXPECT_EQ(rank.run->status.message(), "rank 0: add: a place beyond the data");
}

/// One rank alone that runs an algorithm on ones.
struct Alone {
  explicit Alone(std::size_t count) : input(count, 1), output(count) {}

  const runtime::Run& run(const Algorithm& algorithm, MethodState* state = nullptr) {
    Call call{.collective = Collective::Allreduce, .input = input.data(), .output = output.data()};
    call.count = input.size();
    call.dtype = Dtype::I64;
    call.options.state = state;
    runtime::Run* run = *ranks.communicator(0).post(call, algorithm);
    ranks.sweep_until([&] { return run->finished; });
    return *run;
  }
  std::string said(const Algorithm& algorithm, MethodState* state = nullptr) {
    return std::string(run(algorithm, state).status.message());
  }

  Ranks ranks{1};
  Numbers input, output;
};

/// Its kernel says that there is more than its buffer holds.
const Algorithm boaster = {
    .collective = Collective::Allreduce,
    .name = "boaster",
    .summary = "a test's",
    .symmetric = true,
    .build =
        [](GraphBuilder& g) {
          static constexpr Kernel boast = {"boast", [](const KernelCall& call) {
                                             call.defines[0] = 5;
                                             return Status();
                                           }};
          const Value much = g.value();
          g.kernel(boast, {.defines = {much}});
          g.copy(g.output(), GraphBuilder::counted(g.input(), much));
        },
};

TEST(Kernels, AValueBeyondItsBufferEndsTheCall) {
  const std::string said = Alone(3).said(boaster);
  EXPECT_NE(said.find("5 elements from 0 on in a buffer that holds 3"), std::string::npos) << said;
}

/// Its second kernel is to read what the first says, which is more than there is; in a scratch block for half of it.
const Algorithm greedy = {
    .collective = Collective::Allreduce,
    .name = "greedy",
    .summary = "a test's",
    .symmetric = false,
    .build =
        [](GraphBuilder& g) {
          static constexpr Kernel boast = {"boast", [](const KernelCall& call) {
                                             call.defines[0] = call.part.count;
                                             return Status();
                                           }};
          static constexpr Kernel read = {"read", [](const KernelCall&) { return Status(); }};
          const Value much = g.value();
          const Region half = g.scratch(3, g.input(0, 1, 2));
          g.kernel(boast, {.defines = {much}});
          g.kernel(read, {.reads = {GraphBuilder::counted(half, much)}});
        },
};

TEST(Kernels, AKernelThatIsToReadBeyondABufferEndsTheCallAndItsBuffersAreTheCallersAgain) {
  Alone rank(100);
  const runtime::Run& run = rank.run(greedy);
  EXPECT_NE(run.status.message().find("100 elements from 0 on in a buffer that holds"), std::string::npos)
      << run.status.message();
  EXPECT_TRUE(rank.ranks.communicator(0).reclaimed(run));
}

TEST(Kernels, AStateArrayThatDiffersFromWhatAProgramNeedsEndsTheCall) {
  static const Algorithm keeper = {.collective = Collective::Allreduce,
                                   .name = "keeper",
                                   .summary = "a test's",
                                   .symmetric = true,
                                   .build = [](GraphBuilder& g) {
                                     const Region kept = g.buffer({.role = Role::State, .name = "kept"});
                                     g.reduce(kept, g.input());
                                     g.copy(g.output(), kept);
                                   }};
  MethodState state;
  Alone rank(5);
  EXPECT_EQ(rank.said(keeper, &state), "");
  EXPECT_EQ(rank.output, rank.input);
  const std::string of_another = Alone(3).said(keeper, &state);
  EXPECT_NE(of_another.find("the state's array kept has 5 elements of i64, this call needs 3 of i64"),
            std::string::npos)
      << of_another;
  const std::string without = Alone(5).said(keeper);
  EXPECT_NE(without.find("no state, which is to have kept"), std::string::npos) << without;
}

/// Refuses a part that begins with a number below 0, which its caller must not give. Else it is a copy, of which each
/// rank shows its own to the next.
const Algorithm choosy = {
    .collective = Collective::Allreduce,
    .name = "choosy",
    .summary = "a test's",
    .symmetric = true,
    .build =
        [](GraphBuilder& g) {
          static constexpr Kernel choose = {
              "choose", [](const KernelCall& call) -> Status {
                const auto first = kernels::load<std::int64_t>(call.reads[0].data, std::size_t{0});
                if (first < 0) {
                  return {Code::InvalidArgument, fmt::format("a number is {}, must be 0 or more", first)};
                }
                std::memcpy(call.writes[0].data, call.reads[0].data, call.reads[0].bytes());
                return {};
              }};
          g.kernel(choose, {.reads = {g.input()}, .writes = {g.output()}});
          if (g.size() == 1) return;
          g.send(g.output(), g.position() + 1);
          g.receive(g.scratch(3, g.input()), g.position() - 1);
        },
};

Call choosy_call(const Numbers& input, Numbers& output) {
  Call call{.collective = Collective::Allreduce, .input = input.data(), .output = output.data()};
  call.count = input.size();
  call.dtype = Dtype::I64;
  return call;
}

constexpr const char* refused = "a number is -5, must be 0 or more";

TEST(Kernels, WhatTheCallerOfOneRankMayNotGiveIsInvalidThereAndTheOthersAreToldWhichRankRefusedWhat) {
  constexpr Rank size = 3;
  Ranks ranks(size);
  runtime::LocalWatch watch(size);
  for (Rank rank = 0; rank < size; ++rank) {
    watch.join(rank, ranks.executor(rank));
    ranks.executor(rank).set_reporter([&, rank](const runtime::Trouble& trouble) { watch.report(rank, trouble); });
  }
  const std::vector<Numbers> inputs = {{1, 2}, {-5, 2}, {3, 4}};
  std::vector<Numbers> outputs(3, Numbers(2));
  std::vector<runtime::Run*> runs(3);
  for (std::size_t rank : {0, 2, 1}) {  // the last one refuses at once
    runtime::Communicator& communicator = ranks.communicator(static_cast<Rank>(rank));
    runs[rank] = *communicator.post(choosy_call(inputs[rank], outputs[rank]), choosy);
  }
  const auto have_ended = [&] { return runs[0]->finished && runs[1]->finished && runs[2]->finished; };
  EXPECT_TRUE(ranks.sweep_until(have_ended)) << ranks.waiting_for(runs);
  for (Rank rank = 0; rank < size; ++rank) {
    const Status end = runs[static_cast<std::size_t>(rank)]->status;
    EXPECT_EQ(end.to_string(), fmt::format("invalid argument: call 0 was refused: rank 1: choose: {}", refused));
    EXPECT_EQ(ranks.communicator(rank).status().to_string(), end.to_string());
    watch.leave(rank, {});
  }
}

struct LoneChoice {
  explicit LoneChoice(RanksOptions options) : ranks(1, options) {}

  runtime::Communicator& communicator() { return ranks.communicator(0); }
  Status end_of(runtime::Run& run) { return communicator().wait(run, std::nullopt); }

  Numbers input = Numbers(64, -5), output = Numbers(64);
  Ranks ranks;
};

/// So that many parts are in flight, all of which refuse; at once or later.
std::vector<RanksOptions> lone_options() {
  std::vector<RanksOptions> all(3, RanksOptions{.executor = quick_executor()});
  all[1].executor.chunk_bytes = 64;
  all[1].executor.parts_in_flight = 3;
  all[2] = all[1];
  all[2].executor.compute = delayed_compute;
  return all;
}

TEST(Kernels, OnOneRankWhatMayNotBeGivenEndsTheCallOnly) {
  for (const RanksOptions& options : lone_options()) {
    LoneChoice one(options);
    for (const bool again : {false, true}) {
      runtime::Run* run = *one.communicator().post(choosy_call(one.input, one.output), choosy);
      EXPECT_EQ(one.end_of(*run).to_string(), fmt::format("invalid argument: rank 0: choose: {}", refused)) << again;
      EXPECT_TRUE(one.communicator().reclaimed(*run));
      one.communicator().release(*run);
    }
    one.input.assign(64, 7);
    runtime::Run* run = *one.communicator().post(choosy_call(one.input, one.output), choosy);
    EXPECT_TRUE(one.end_of(*run));
    EXPECT_EQ(one.output, one.input);
  }
}

TEST(Kernels, APreparedCallThatWasRefusedOnOneRankCanBeStartedAgain) {
  for (const RanksOptions& options : lone_options()) {
    LoneChoice one(options);
    runtime::Run* run = *one.communicator().prepare(choosy_call(one.input, one.output), choosy);
    ASSERT_TRUE(one.communicator().start(*run));
    EXPECT_EQ(one.end_of(*run).code(), Code::InvalidArgument);
    one.input.assign(64, 7);
    ASSERT_TRUE(one.communicator().start(*run));
    EXPECT_TRUE(one.end_of(*run));
    EXPECT_EQ(one.output, one.input);
    one.communicator().release(*run);
  }
}

}  // namespace
}  // namespace lacuna::test
