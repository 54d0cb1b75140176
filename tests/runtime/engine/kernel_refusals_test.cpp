#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "kernels/elements.hpp"
#include "runtime/engine/wire.hpp"
#include "runtime/job/local_watch.hpp"
#include "tests/support/delayed_compute.hpp"
#include "tests/support/lone_rank.hpp"
#include "tests/support/sparse_sum.hpp"

/// Kernels that end their call, because they find something wrong, or because they would go beyond their memory.
namespace lacuna::test {
namespace {

using Numbers = std::vector<std::int64_t>;

/// Rank 0, and the messages that rank 1 sends to it for sparse_sum.
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

/// A job of one rank that runs an algorithm on an input of ones.
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

/// Defines a given number, or the number of elements of the part.
struct Boast {
  static constexpr std::string_view name = "boast";
  Define much;
  std::uint64_t number = 0;

  Status operator()(const KernelCall& call) const {
    *much = number == 0 ? call.part.count : number;
    return {};
  }
};

struct ReadOnly {
  static constexpr std::string_view name = "read";
  Read from;

  Status operator()(const KernelCall&) const { return {}; }
};

/// The kernel of this program says that there are more elements than its buffer holds.
const Algorithm boaster = {
    .collective = Collective::Allreduce,
    .name = "boaster",
    .summary = "a test's",
    .symmetric = true,
    .build =
        [](GraphBuilder& g) {
          const Value much = g.value();
          g.kernel(Boast{.much = much, .number = 5});
          g.copy(g.output(), GraphBuilder::counted(g.input(), much));
        },
};

TEST(Kernels, AValueBeyondItsBufferEndsTheCall) {
  const std::string said = Alone(3).said(boaster);
  EXPECT_NE(said.find("5 elements from 0 on in a buffer that holds 3"), std::string::npos) << said;
}

/// The second kernel of this program is to read as many elements as the first one says, which is more than there are.
/// The scratch block holds half of the data.
const Algorithm greedy = {
    .collective = Collective::Allreduce,
    .name = "greedy",
    .summary = "a test's",
    .symmetric = false,
    .build =
        [](GraphBuilder& g) {
          const Value much = g.value();
          const Region half = g.scratch(3, g.input(0, 1, 2));
          g.kernel(Boast{.much = much});
          g.kernel(ReadOnly{.from = GraphBuilder::counted(half, much)});
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
  EXPECT_NE(without.find("no state, which must hold the array kept"), std::string::npos) << without;
}

/// A copy that refuses a part if it begins with a number below 0, which its caller must not give.
struct Choose {
  static constexpr std::string_view name = "choose";
  Read from;
  Write to;

  Status operator()(const KernelCall&) const {
    const auto first = kernels::load<std::int64_t>(from->data, std::size_t{0});
    if (first < 0) return {Code::InvalidArgument, fmt::format("a number is {}, must be 0 or more", first)};
    std::memcpy(to->data, from->data, from->bytes());
    return {};
  }
};

/// Each rank sends its own copy to the next rank.
const Algorithm choosy = {
    .collective = Collective::Allreduce,
    .name = "choosy",
    .summary = "a test's",
    .symmetric = true,
    .build =
        [](GraphBuilder& g) {
          g.kernel(Choose{.from = g.input(), .to = g.output()});
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
  for (std::size_t rank : {0, 2, 1}) {  // rank 1 posts last, and refuses at once
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

/// A communicator of one rank: of a job of one, or of the last rank of a larger job, whose watch would tell others.
struct LoneChoice {
  LoneChoice(Rank processes, const RanksOptions& options)
      : ranks(processes, options), own(ranks.executor(processes - 1), 99, Group({processes - 1}, processes), Hosts(1)) {
    ranks.executor(processes - 1).set_reporter([this](const runtime::Trouble&) { ++reports; });
  }

  Status end_of(runtime::Run& run) { return own.wait(run); }
  std::string refusal() const {
    return fmt::format("invalid argument: rank {}: choose: {}", ranks.size() - 1, refused);
  }

  Numbers input = Numbers(64, -5), output = Numbers(64);
  int reports = 0;
  Ranks ranks;
  runtime::Communicator own;
};

/// One part, many parts in flight, or many that end later, in jobs of so many processes. All parts refuse.
std::vector<std::pair<Rank, RanksOptions>> lone_options() {
  RanksOptions one_part{.executor = quick_executor()}, many_parts = one_part, later_parts = one_part;
  many_parts.executor.chunk_bytes = later_parts.executor.chunk_bytes = 64;
  many_parts.executor.parts_in_flight = later_parts.executor.parts_in_flight = 3;
  later_parts.executor.compute = delayed_compute;
  std::vector<std::pair<Rank, RanksOptions>> all;
  for (const Rank processes : {1, 3}) {
    for (const RanksOptions& options : {one_part, many_parts, later_parts}) all.emplace_back(processes, options);
  }
  return all;
}

TEST(Kernels, OnOneRankWhatMayNotBeGivenEndsTheCallOnly) {
  for (const auto& [processes, options] : lone_options()) {
    LoneChoice one(processes, options);
    for (const bool again : {false, true}) {
      runtime::Run* run = *one.own.post(choosy_call(one.input, one.output), choosy);
      EXPECT_EQ(one.end_of(*run).to_string(), one.refusal()) << again;
      EXPECT_TRUE(one.own.reclaimed(*run));
      one.own.release(*run);
    }
    one.input.assign(64, 7);
    runtime::Run* run = *one.own.post(choosy_call(one.input, one.output), choosy);
    EXPECT_TRUE(one.end_of(*run));
    EXPECT_EQ(one.output, one.input);
    EXPECT_EQ(one.reports, 0);
  }
}

TEST(Kernels, APreparedCallThatWasRefusedOnOneRankCanBeStartedAgain) {
  for (const auto& [processes, options] : lone_options()) {
    LoneChoice one(processes, options);
    runtime::Run* run = *one.own.prepare(choosy_call(one.input, one.output), choosy);
    ASSERT_TRUE(one.own.start(*run));
    EXPECT_EQ(one.end_of(*run).code(), Code::InvalidArgument);
    one.input.assign(64, 7);
    ASSERT_TRUE(one.own.start(*run));
    EXPECT_TRUE(one.end_of(*run));
    EXPECT_EQ(one.output, one.input);
    one.own.release(*run);
  }
}

}  // namespace
}  // namespace lacuna::test
