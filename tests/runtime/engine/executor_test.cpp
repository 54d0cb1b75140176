#include "runtime/engine/executor.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "tests/support/calls.hpp"

namespace lacuna::test {
namespace {

using namespace std::chrono_literals;
using Floats = std::vector<float>;

RanksOptions options_with(void (*change)(RanksOptions&)) {
  RanksOptions options{.network = {}, .executor = quick_executor()};
  change(options);
  return options;
}

TEST(Executor, AloneARankCopiesAndSendsNothing) {
  Ranks ranks(1);
  const Floats input = {1, 2, 3};
  Floats output(3);
  EXPECT_TRUE(ranks.run({allreduce_call(input, output)})[0]);
  EXPECT_EQ(output, input);
  EXPECT_EQ(ranks.counters(0).messages_sent, 0u);
}

TEST(Executor, WaitTimesOutAndTheRunLivesOn) {
  Ranks ranks(2);
  const Floats input(8, 1);
  Floats outputs[2] = {Floats(8), Floats(8)};
  runtime::Run& early = must_post(ranks, 0, allreduce_call(input, outputs[0]));
  const Status status = ranks.communicator(0).wait(early, 20ms);
  EXPECT_EQ(status.code(), Code::TimedOut);
  EXPECT_NE(status.message().find(" bytes from rank 1"), std::string::npos) << status.message();
  EXPECT_TRUE(ranks.communicator(0).status());
  runtime::Run& late = must_post(ranks, 1, allreduce_call(input, outputs[1]));
  ASSERT_TRUE(ranks.sweep_until([&] { return early.finished && late.finished; }));
  EXPECT_TRUE(ranks.communicator(0).wait(early, 0ms));
  EXPECT_EQ(outputs[0], Floats(8, 2));
}

TEST(Executor, BeyondTheLimitOfRunsAPostIsBusyAndSendsNothing) {
  Ranks ranks(2, options_with([](RanksOptions& options) { options.executor.max_runs = 3; }));
  const Floats input(8, 1);
  std::vector<Floats> outputs(8, Floats(8));
  std::vector<runtime::Run*> runs;
  for (std::size_t i = 0; i < 3; ++i) runs.push_back(&must_post(ranks, 0, allreduce_call(input, outputs[i])));
  const auto sent = ranks.counters(0).messages_sent;
  const auto refused = ranks.post(0, allreduce_call(input, outputs[3]));
  ASSERT_EQ(refused.status().code(), Code::Busy);
  EXPECT_NE(refused.status().message().find("unfinished calls: 3; at most 3"), std::string::npos);
  EXPECT_EQ(ranks.counters(0).messages_sent, sent);

  for (std::size_t i = 4; i < 7; ++i) runs.push_back(&must_post(ranks, 1, allreduce_call(input, outputs[i])));
  const auto all_ended = [&] { return std::all_of(runs.begin(), runs.end(), [](auto* run) { return run->finished; }); };
  ASSERT_TRUE(ranks.sweep_until(all_ended));
  runs.push_back(&must_post(ranks, 0, allreduce_call(input, outputs[3])));
  runs.push_back(&must_post(ranks, 1, allreduce_call(input, outputs[7])));
  ASSERT_TRUE(ranks.sweep_until(all_ended));
  EXPECT_EQ(outputs[3], Floats(8, 2));
}

TEST(Executor, ReleasesWhatTheCallKeptAliveAfterItsEnd) {
  Ranks ranks(2);
  const Floats input(8, 1);
  Floats outputs[2] = {Floats(8), Floats(8)};
  auto kept = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = kept;
  Call call = allreduce_call(input, outputs[0]);
  call.options.keep_alive = std::move(kept);
  runtime::Run& run = must_post(ranks, 0, call);
  call.options.keep_alive.reset();
  ranks.sweep_until([] { return false; });
  EXPECT_FALSE(watched.expired());
  must_post(ranks, 1, allreduce_call(input, outputs[1]));
  ASSERT_TRUE(ranks.sweep_until([&] { return run.finished; }));
  EXPECT_TRUE(watched.expired());
}

TEST(Executor, TokensOfFinishedCallsArriveInTheOrderOfTheirEnds) {
  Ranks ranks(2);
  Floats from_one(4), from_zero(4);
  Call waits = broadcast_call(from_one, 1), ends = broadcast_call(from_zero, 0), silent = ends;
  waits.options.notify = 71;
  ends.options.notify = 72;
  must_post(ranks, 0, waits);
  must_post(ranks, 0, ends);
  must_post(ranks, 0, silent);
  const auto first = ranks.executor(0).next_finished();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->token, 72u);
  EXPECT_FALSE(ranks.executor(0).next_finished());
  Floats data(4, 3);
  must_post(ranks, 1, broadcast_call(data, 1));
  ranks.sweep();
  const auto finished = ranks.executor(0).next_finished();
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->token, 71u);
  EXPECT_TRUE(finished->status);
  EXPECT_FALSE(ranks.executor(0).next_finished());
}

TEST(Executor, TheDescriptorIsReadableWhileTokensWait) {
  Ranks ranks(2);
  const auto readable = [&] {
    pollfd event{ranks.executor(0).event_fd(), POLLIN, 0};
    return ::poll(&event, 1, 0) == 1;
  };
  Floats data(4);
  Call call = broadcast_call(data, 0);
  call.options.notify = 1;
  EXPECT_FALSE(readable());
  must_post(ranks, 0, call);
  must_post(ranks, 0, call);
  EXPECT_TRUE(readable());
  EXPECT_TRUE(ranks.executor(0).next_finished());
  EXPECT_TRUE(readable());
  EXPECT_TRUE(ranks.executor(0).next_finished());
  EXPECT_FALSE(readable());
}

/// Does what the loop of an application does: it makes progress, and sleeps on the descriptor if there is none to make.
/// Returns false if it slept too long.
bool poll_until_finished(runtime::Executor& executor) {
  while (!executor.next_finished()) {
    if (executor.progress() || !executor.arm()) continue;
    pollfd event{executor.event_fd(), POLLIN, 0};
    if (::poll(&event, 1, 30'000) != 1) return false;
  }
  return true;
}

TEST(Executor, TheDescriptorWakesAnApplicationsOwnLoop) {
  Ranks ranks(3);
  std::atomic<int> woken{0};
  ranks.each_in_thread([&](Rank rank) {
    const Floats input(1000, 1);
    Floats output(1000);
    for (int i = 0; i < 20; ++i) {
      if (rank == 1) std::this_thread::sleep_for(1ms);
      Call call = allreduce_call(input, output);
      call.options.notify = 1;
      must_post(ranks, rank, call);
      if (!poll_until_finished(ranks.executor(rank)) || output != Floats(1000, 3)) return;
    }
    ++woken;
  });
  EXPECT_EQ(woken, 3);
}

void expect_early_messages_wait(std::size_t eager_bytes) {
  RanksOptions options{.network = {}, .executor = quick_executor()};
  options.executor.eager_bytes = eager_bytes;
  Ranks ranks(2, options);
  Floats sent[3], received[3];
  for (std::size_t i = 0; i < 3; ++i) {
    sent[i].assign(3000, static_cast<float>(i + 1));
    received[i].resize(3000);
    must_post(ranks, 0, broadcast_call(sent[i], 0));
  }
  ranks.sweep_until([] { return false; });
  std::vector<runtime::Run*> runs;
  for (Floats& data : received) runs.push_back(&must_post(ranks, 1, broadcast_call(data, 0)));
  ASSERT_TRUE(ranks.sweep_until([&] { return runs[0]->finished && runs[1]->finished && runs[2]->finished; }));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(received[i], sent[i]);
}

TEST(Executor, MessagesOfThreeCallsAheadWaitForTheirCalls) { expect_early_messages_wait(1 << 20); }
TEST(Executor, DescriptorsOfThreeCallsAheadWaitForTheirCalls) { expect_early_messages_wait(0); }

TEST(Executor, TheCreditOfMessagesThatWaitedForTheirCallsIsReturned) {
  Ranks ranks(2, options_with([](RanksOptions& options) { options.executor.credit_bytes = 2048; }));
  Floats sent(64, 3), received(64);
  for (int i = 0; i < 100; ++i) {
    const runtime::Run& sends = must_post(ranks, 0, broadcast_call(sent, 0));
    ASSERT_TRUE(sends.finished) << "call " << i << " was not sent eagerly";
    ranks.sweep_until([] { return false; });
    const runtime::Run& receives = must_post(ranks, 1, broadcast_call(received, 0));
    ASSERT_TRUE(receives.finished);
    ranks.sweep_until([] { return false; });
  }
}

/// Posts ten calls of low priority and then a small one. Returns the place at which the small one ends on the sending
/// rank.
int place_of_small_call(Priority priority) {
  Ranks ranks(2, options_with([](RanksOptions& options) {
                options.network.sends = InprocOptions::Sends::Referenced;
                options.executor.window_bytes = 1;
              }));
  Floats bulk[2] = {Floats(500), Floats(500)}, small[2] = {Floats(1), Floats(1)};
  for (Rank rank : {0, 1}) {
    for (std::uint64_t i = 0; i <= 10; ++i) {
      Call call = broadcast_call(i < 10 ? bulk[rank] : small[rank], 0);
      call.options.priority = i < 10 ? Priority::Low : priority;
      call.options.notify = i;
      must_post(ranks, rank, call);
    }
  }
  ranks.sweep_until([] { return false; });
  int place = 0;
  while (const auto finished = ranks.executor(0).next_finished()) {
    if (finished->token == 10) return place;
    ++place;
  }
  return -1;
}

TEST(Executor, ASmallCallOfHighPriorityOvertakesLowOnes) {
  EXPECT_EQ(place_of_small_call(Priority::High), 1);  // behind the call that was on the wire
  EXPECT_EQ(place_of_small_call(Priority::Normal), 1);
  EXPECT_EQ(place_of_small_call(Priority::Low), 10);
}

/// Two threads for each rank. Each thread has calls on a communicator of its own, over the rank's one executor.
void expect_threads_share_an_executor(bool progress_thread) {
  RanksOptions options{.network = {}, .executor = quick_executor()};
  options.executor.progress_thread = progress_thread;
  Ranks ranks(2, options);
  std::atomic<int> right{0};
  {
    runtime::Communicator others[] = {{ranks.executor(0), 99}, {ranks.executor(1), 99}};
    const auto work = [&right](runtime::Communicator& communicator, float value) {
      const Floats input(700, value);
      for (int i = 0; i < 100; ++i) {
        Floats output(700);
        runtime::Run& run = must_post(communicator, allreduce_call(input, output));
        const bool ended = communicator.wait(run).is_ok();
        communicator.release(run);
        if (!ended || output != Floats(700, 2 * value)) return;
      }
      ++right;
    };
    std::vector<std::thread> threads;
    for (Rank rank : {0, 1}) {
      threads.emplace_back(work, std::ref(ranks.communicator(rank)), 1.0f);
      threads.emplace_back(work, std::ref(others[rank]), 5.0f);
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(right, 4);
}

TEST(Executor, ThreadsPostAndWaitAtTheSameTime) { expect_threads_share_an_executor(false); }
TEST(Executor, ThreadsPostAndWaitBesideAProgressThread) { expect_threads_share_an_executor(true); }

TEST(Executor, TheFlightRecordShowsWhatACallDid) {
  Ranks ranks(2);
  Floats data[2] = {Floats(5), Floats(5)};
  for (Rank rank : {0, 1}) must_post(ranks, rank, broadcast_call(data[rank], 0));
  ranks.sweep_until([] { return false; });
  const std::string record = ranks.executor(1).flight_record();
  for (const char* event : {"posted", "received", "bytes 20", "finished"}) {
    EXPECT_NE(record.find(event), std::string::npos) << record;
  }
}

}  // namespace
}  // namespace lacuna::test
