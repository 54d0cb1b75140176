#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <memory>
#include <set>

#include "tests/support/calls.hpp"

namespace lacuna::test {
namespace {

using namespace std::chrono_literals;
using Floats = std::vector<float>;

bool says(const Status& status, const char* text) { return status.message().find(text) != std::string::npos; }

RanksOptions synchronous(std::uint32_t slots = 16) {
  RanksOptions options{.network = {}, .executor = quick_executor()};
  options.executor.eager_bytes = 0;
  options.executor.slots = slots;
  return options;
}

/// Makes allreduces on all ranks at once, as long as their deadlines allow.
std::vector<Status> run_to_the_end(Ranks& ranks, std::chrono::milliseconds deadline) {
  const Floats input(100, 1);
  std::vector<Floats> outputs(static_cast<std::size_t>(ranks.size()), Floats(100));
  std::vector<runtime::Run*> runs;
  for (Rank rank = 0; rank < ranks.size(); ++rank) {
    Call call = allreduce_call(input, outputs[static_cast<std::size_t>(rank)]);
    call.options.deadline = deadline;
    runs.push_back(&must_post(ranks, rank, call));
  }
  EXPECT_TRUE(ranks.sweep_for(
      30s, [&] { return std::all_of(runs.begin(), runs.end(), [](const auto* run) { return run->finished; }); }));
  std::vector<Status> outcome;
  for (const runtime::Run* run : runs) outcome.push_back(run->status);
  return outcome;
}

TEST(ExecutorFailure, OneLandingSlotServesSynchronousSends) {
  Ranks ranks(3, synchronous(1));
  for (const Status& status : run_to_the_end(ranks, 30s)) EXPECT_TRUE(status) << status.to_string();
}

TEST(ExecutorFailure, ExhaustedSlotsEndInTheDeadlinesErrorAndNotInAHang) {
  Ranks ranks(3, synchronous(0));
  for (const Status& status : run_to_the_end(ranks, 100ms)) {
    EXPECT_EQ(status.code(), Code::TimedOut);
    EXPECT_TRUE(says(status, "bytes from rank")) << status.to_string();
  }
}

TEST(ExecutorFailure, TheDeadlinesTextNamesCollectiveStepPeerAndMissingBytes) {
  Ranks ranks(3);
  const Floats input(300, 1);
  Floats output(300);
  Call call = allreduce_call(input, output);
  call.options.deadline = 50ms;
  const runtime::Run& run = must_post(ranks, 1, call);
  ASSERT_TRUE(ranks.sweep_for(30s, [&] { return run.finished; }));
  EXPECT_EQ(run.status.code(), Code::TimedOut);
  for (const char* part : {"the deadline has passed on rank 1", "call 0", "allreduce ring f32 count 300 sum",
                           "part 0 step 1 misses", "400 of 400 bytes from rank 0"}) {
    EXPECT_TRUE(says(run.status, part)) << run.status.to_string() << "\nlacks: " << part;
  }
}

TEST(ExecutorFailure, ADeadlinePassesAlsoWhileOtherCallsKeepMoving) {
  Ranks ranks(2);
  runtime::Communicator others[] = {{ranks.executor(0), 99}, {ranks.executor(1), 99}};
  const Floats input(4, 1);
  Floats output(4), data(4), received(4);
  Call stuck = allreduce_call(input, output);
  stuck.options.deadline = 50ms;
  const runtime::Run& run = must_post(ranks, 0, stuck);
  const auto until = runtime::Clock::now() + 10s;
  while (!run.finished && runtime::Clock::now() < until) {
    runtime::Run& sends = must_post(others[1], broadcast_call(data, 1));
    runtime::Run& receives = must_post(others[0], broadcast_call(received, 1));
    ranks.executor(1).progress();
    ASSERT_TRUE(ranks.executor(0).progress());
    ASSERT_TRUE(sends.finished && receives.finished);
    others[1].release(sends);
    others[0].release(receives);
  }
  EXPECT_TRUE(run.finished);
}

TEST(ExecutorFailure, MismatchedCallsAreAnErrorOnTheRankThatSeesIt) {
  const Floats input(100, 1);
  Floats outputs[2] = {Floats(100), Floats(100)};
  const std::pair<const char*, void (*)(Call&)> changes[] = {
      {"count", [](Call& call) { call.count = 99; }},
      {"dtype", [](Call& call) { call.dtype = Dtype::I32; }},
      {"reduction", [](Call& call) { call.reduction = Reduction::Max; }},
      {"algorithm", [](Call& call) { call.options.algorithm = "recursive_doubling"; }},
      {"collective",
       [](Call& call) {
         call.collective = Collective::Barrier;
         call.options.algorithm = "dissemination";
       }},
  };
  for (const auto& [name, change] : changes) {
    Ranks ranks(2);
    Call right = allreduce_call(input, outputs[0]), wrong = allreduce_call(input, outputs[1]);
    change(wrong);
    const runtime::Run& first = must_post(ranks, 0, right);
    const runtime::Run& second = must_post(ranks, 1, wrong);
    ranks.sweep_until([] { return false; });
    for (const runtime::Run* run : {&first, &second}) {
      EXPECT_EQ(run->status.code(), Code::Mismatch) << name;
      EXPECT_TRUE(says(run->status, "asked for something else than rank")) << run->status.to_string();
    }
  }
}

TEST(ExecutorFailure, DifferentRootsAreAMismatchThoughBothSendersEnd) {
  Ranks ranks(2);
  Floats data[2] = {Floats(10), Floats(10)};
  for (Rank rank : {0, 1}) must_post(ranks, rank, broadcast_call(data[rank], rank));
  ranks.sweep_until([] { return false; });
  for (Rank rank : {0, 1}) EXPECT_EQ(ranks.communicator(rank).status().code(), Code::Mismatch);
}

TEST(ExecutorFailure, APoisonedCommunicatorRefusesCallsWithTheReason) {
  Ranks ranks(2);
  Floats data(10);
  ranks.communicator(0).fail({Code::PeerFailed, "rank 1 was planted"});
  const auto sent = ranks.counters(0).messages_sent;
  const auto refused = ranks.post(0, broadcast_call(data, 0));
  EXPECT_EQ(refused.status().code(), Code::PeerFailed);
  EXPECT_TRUE(says(refused.status(), "rank 1 was planted"));
  EXPECT_EQ(ranks.counters(0).messages_sent, sent);
}

TEST(ExecutorFailure, LateMessagesForAPoisonedCommunicatorAreDroppedAndTheirCreditReturned) {
  RanksOptions options{.network = {}, .executor = quick_executor()};
  options.executor.credit_bytes = 2048;
  Ranks ranks(2, options);
  ranks.communicator(0).fail({Code::PeerFailed, "planted"});
  Floats data(64);
  for (int i = 0; i < 100; ++i) {
    const runtime::Run& run = must_post(ranks, 1, broadcast_call(data, 1));
    ranks.sweep_until([] { return false; });
    ASSERT_TRUE(run.finished && run.status);
  }
  EXPECT_EQ(ranks.counters(1).payload_sent, 100u * 256);  // all bytes went eagerly, so there was always credit
  EXPECT_EQ(ranks.counters(0).payload_sent, 0u);
  EXPECT_GT(ranks.counters(0).messages_sent, 0u);
}

TEST(ExecutorFailure, LateDescriptorsForAPoisonedCommunicatorAreDiscardedAndTheirSenderEnds) {
  Ranks ranks(2, synchronous());
  ranks.communicator(0).fail({Code::PeerFailed, "planted"});
  Floats data(64);
  const runtime::Run& run = must_post(ranks, 1, broadcast_call(data, 1));
  EXPECT_TRUE(ranks.sweep_until([&] { return run.finished; }));
  EXPECT_TRUE(run.status);
  EXPECT_EQ(ranks.counters(1).payload_sent, 0u);
}

TEST(ExecutorFailure, DescriptorsThatWaitForASlotAreDiscardedWhenTheirCallFails) {
  Ranks ranks(2, synchronous(0));
  const Floats input(100, 1);
  Floats outputs[2] = {Floats(100), Floats(100)};
  runtime::Run* runs[2];
  for (Rank rank : {0, 1}) runs[rank] = &must_post(ranks, rank, allreduce_call(input, outputs[rank]));
  ranks.sweep_until([] { return false; });
  for (Rank rank : {0, 1}) {
    ASSERT_FALSE(runs[rank]->finished);
    ranks.communicator(rank).fail({Code::PeerFailed, "planted"});
  }
  EXPECT_TRUE(ranks.sweep_until(
      [&] { return ranks.communicator(0).reclaimed(*runs[0]) && ranks.communicator(1).reclaimed(*runs[1]); }));
}

TEST(ExecutorFailure, AnotherCommunicatorOfTheSameRanksGoesOn) {
  Ranks ranks(2, synchronous());
  runtime::Communicator others[] = {{ranks.executor(0), 99}, {ranks.executor(1), 99}};
  Floats lost[2] = {Floats(50), Floats(50)}, data[2] = {Floats(50, 7), Floats(50)};
  for (Rank rank : {0, 1}) must_post(ranks, rank, broadcast_call(lost[rank], 0));
  ranks.communicator(1).fail({Code::PeerFailed, "planted"});
  std::vector<runtime::Run*> runs;
  for (Rank rank : {0, 1}) runs.push_back(&must_post(others[rank], broadcast_call(data[rank], 0)));
  EXPECT_TRUE(ranks.sweep_until([&] { return runs[0]->finished && runs[1]->finished; }));
  EXPECT_EQ(data[1], Floats(50, 7));
}

TEST(ExecutorFailure, AFailedCallKeepsItsMemoryUntilTheTransportHasLetGo) {
  Ranks ranks(2, synchronous());
  Floats data(64);
  auto kept = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = kept;
  Call call = broadcast_call(data, 0);
  call.options.keep_alive = std::move(kept);
  const runtime::Run& run = must_post(ranks, 0, call);
  call.options.keep_alive.reset();
  ranks.communicator(0).fail({Code::PeerFailed, "planted"});
  ranks.sweep_until([] { return false; });  // the descriptor waits on rank 1 for a call that does not come
  EXPECT_TRUE(run.finished);
  EXPECT_FALSE(ranks.communicator(0).reclaimed(run));
  EXPECT_FALSE(watched.expired());
  ranks.communicator(1).fail({Code::PeerFailed, "planted"});
  ranks.sweep_until([] { return false; });
  EXPECT_TRUE(ranks.communicator(0).reclaimed(run));
  EXPECT_TRUE(watched.expired());
}

TEST(ExecutorFailure, AfterAVerdictOnTheJobNothingMovesAndWhatNobodyCanTouchIsReclaimed) {
  Ranks ranks(2, synchronous());
  runtime::Communicator other(ranks.executor(0), 99);
  Floats data(64);
  auto kept = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = kept;
  Call call = broadcast_call(data, 0);
  call.options.keep_alive = std::move(kept);
  const runtime::Run& run = must_post(ranks, 0, call);
  call.options.keep_alive.reset();
  must_post(ranks, 1, broadcast_call(data, 1));
  const auto received = ranks.counters(0).messages_received;
  const Status verdict(Code::PeerFailed, "planted");
  ranks.executor(0).fail(verdict);
  EXPECT_TRUE(run.finished);
  EXPECT_TRUE(ranks.communicator(0).reclaimed(run));
  EXPECT_FALSE(watched.expired());  // releasing it may run code of the caller, which the watch must not run
  for (const runtime::Communicator* one : {&ranks.communicator(0), &other}) {
    EXPECT_EQ(one->status().to_string(), verdict.to_string());
  }
  EXPECT_EQ(runtime::Communicator(ranks.executor(0), 100).status().to_string(), verdict.to_string());
  ranks.sweep_until([] { return false; });
  EXPECT_EQ(ranks.counters(0).messages_received, received);
  EXPECT_TRUE(watched.expired());
  ranks.executor(0).release(false);
  EXPECT_TRUE(ranks.communicator(0).reclaimed(run));
  EXPECT_EQ(ranks.executor(0).close(1s).to_string(), verdict.to_string());
}

TEST(ExecutorFailure, WhoSleepsOnTheDescriptorIsWokenByAVerdictAndByHelp) {
  Ranks ranks(2);
  const auto readable = [&] {
    pollfd sleeper{ranks.executor(0).event_fd(), POLLIN, 0};
    return ::poll(&sleeper, 1, 0) == 1;
  };
  Floats data(64);
  const runtime::Run& run = must_post(ranks, 0, broadcast_call(data, 1));
  must_post(ranks, 1, broadcast_call(data, 1));
  ranks.executor(0).help();
  EXPECT_TRUE(run.finished);
  EXPECT_TRUE(readable());
  EXPECT_FALSE(ranks.executor(0).arm());
  EXPECT_TRUE(ranks.executor(0).arm());
  EXPECT_FALSE(readable());
  ranks.executor(0).fail({Code::PeerFailed, "planted"});
  EXPECT_TRUE(readable());
  EXPECT_FALSE(ranks.executor(0).arm());
  EXPECT_TRUE(ranks.executor(0).arm());
  EXPECT_FALSE(readable());
}

TEST(ExecutorFailure, AStallOfEachCommunicatorIsReported) {
  RanksOptions options{.network = {}, .executor = quick_executor()};
  options.executor.stall = 20ms;
  Ranks ranks(2, options);
  runtime::Communicator other(ranks.executor(0), 99);
  std::set<std::uint64_t> stalled;
  ranks.executor(0).set_reporter([&](const runtime::Trouble& trouble) { stalled.insert(trouble.communicator); });
  Floats data(10), more(10);
  must_post(ranks, 0, broadcast_call(data, 1));
  must_post(other, broadcast_call(more, 1));
  EXPECT_TRUE(ranks.sweep_for(30s, [&] { return stalled.size() == 2; }));
}

TEST(ExecutorFailure, ADestroyedCommunicatorEndsItsCallsAndItsExecutorGoesOn) {
  for (const std::size_t eager_bytes : {0, 1 << 20}) {
    RanksOptions options = synchronous();
    options.executor.eager_bytes = eager_bytes;
    Ranks ranks(2, options);
    auto lost = std::make_unique<runtime::Communicator>(ranks.executor(0), 99);
    auto other = std::make_unique<runtime::Communicator>(ranks.executor(1), 99);
    Floats data[2] = {Floats(50, 7), Floats(50)};
    auto kept = std::make_shared<int>(1);
    const std::weak_ptr<int> watched = kept;
    Call call = broadcast_call(data[0], 0);
    call.options.keep_alive = std::move(kept);
    must_post(*lost, call);
    call.options.keep_alive.reset();
    must_post(*lost, broadcast_call(data[0], 1));
    lost.reset();
    ranks.sweep_until([] { return false; });
    other.reset();
    ranks.sweep_until([] { return false; });
    EXPECT_TRUE(watched.expired());
    for (const Status& status : ranks.run({broadcast_call(data[0], 0), broadcast_call(data[1], 0)})) {
      EXPECT_TRUE(status) << status.to_string();
    }
    EXPECT_EQ(data[1], Floats(50, 7));
  }
}

TEST(ExecutorFailure, WithAReporterNothingFailsBeforeItsVerdict) {
  RanksOptions options{.network = {}, .executor = quick_executor()};
  options.executor.stall = 20ms;
  Ranks ranks(2, options);
  std::vector<runtime::Trouble> troubles;
  ranks.executor(0).set_reporter([&](const runtime::Trouble& trouble) { troubles.push_back(trouble); });
  const Floats input(10, 1);
  Floats output(10);
  Call call = allreduce_call(input, output);
  call.options.deadline = 1s;
  const runtime::Run& run = must_post(ranks, 0, call);
  const auto reported = [&](runtime::Trouble::Kind kind) {
    return std::any_of(troubles.begin(), troubles.end(), [&](const auto& trouble) { return trouble.kind == kind; });
  };
  EXPECT_TRUE(ranks.sweep_for(30s, [&] { return reported(runtime::Trouble::Kind::Expired); }));
  EXPECT_TRUE(reported(runtime::Trouble::Kind::Stalled));
  EXPECT_FALSE(run.finished);
  EXPECT_EQ(std::count_if(troubles.begin(), troubles.end(),
                          [](const auto& trouble) { return trouble.kind == runtime::Trouble::Kind::Expired; }),
            1);
  ranks.communicator(0).fail({Code::TimedOut, "the verdict"});
  EXPECT_TRUE(run.finished);
  EXPECT_TRUE(says(run.status, "the verdict"));
}

TEST(ExecutorFailure, RefusesBuffersThatOverlapWithoutBeingInPlace) {
  Ranks ranks(2);
  Floats data(20);
  Call call = broadcast_call(data, 0);
  call.count = 10;
  call.collective = Collective::Allreduce;
  call.output = data.data() + 5;
  const Status refused = ranks.post(0, call).status();
  EXPECT_EQ(refused.code(), Code::InvalidArgument);
  EXPECT_TRUE(says(refused, "overlap")) << refused.to_string();
}

TEST(ExecutorFailure, RefusesNullBuffersRootsThatAreNoRanksAndAveragesOfIntegers) {
  Ranks ranks(2);
  Floats data(20);
  Call none = broadcast_call(data, 0), nobody = none, average = none;
  none.output = nullptr;
  EXPECT_TRUE(says(ranks.post(0, none).status(), "the output is null")) << ranks.post(0, none).status().to_string();
  nobody.root = 2;
  EXPECT_TRUE(says(ranks.post(0, nobody).status(), "root is 2, must be 0 .. 1"));
  average.collective = Collective::Allreduce;
  average.dtype = Dtype::I32;
  average.reduction = Reduction::Avg;
  EXPECT_TRUE(says(ranks.post(0, average).status(), "avg of i32 is not defined"));
}

}  // namespace
}  // namespace lacuna::test
