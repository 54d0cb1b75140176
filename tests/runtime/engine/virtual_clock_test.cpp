#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/support/hand_clock.hpp"
#include "tests/support/lone_rank.hpp"
#include "tests/support/warnings.hpp"

namespace lacuna::test {
namespace {

using namespace std::chrono_literals;
using Floats = std::vector<float>;

runtime::ExecutorOptions timed_by(const HandClock& clock) {
  runtime::ExecutorOptions options = quick_executor();
  options.time = runtime::TimeSource(clock);
  options.deadline = 1h;
  options.stall = 24h;
  return options;
}

TEST(VirtualClock, ADeadlineExpiresWhenItIsMovedThereAndNotBefore) {
  HandClock clock;
  LoneRank rank(2, timed_by(clock));
  Floats data(10), more(10);
  const runtime::Run& call = must_post(rank.communicator, broadcast_call(data, 1));
  const auto message = rank.communicator.post(Receive{.data = more.data(), .count = 10, .from = 1, .tag = 1});
  ASSERT_TRUE(message);
  clock.move(1h - 1ns);
  rank.progress();
  EXPECT_FALSE(call.finished || (*message)->finished);
  clock.move(1ns);
  rank.progress();
  EXPECT_EQ(call.status.code(), Code::TimedOut);
  EXPECT_EQ((*message)->status.code(), Code::TimedOut);
}

TEST(VirtualClock, AMessageExpiresBesideACallThatDoesNot) {
  HandClock clock;
  LoneRank rank(2, timed_by(clock));
  Floats data(10), more(10);
  const runtime::Run& call = must_post(rank.communicator, broadcast_call(data, 1));
  const auto message = rank.communicator.post(
      Receive{.data = more.data(), .count = 10, .from = 1, .tag = 1, .options = {.deadline = 1s}});
  ASSERT_TRUE(message);
  clock.move(1s);
  rank.progress();
  EXPECT_EQ((*message)->status.code(), Code::TimedOut);
  EXPECT_FALSE(call.finished);
}

TEST(VirtualClock, AWaitEndsAfterItsTimeByIt) {
  HandClock clock(1s);
  LoneRank rank(2, timed_by(clock));
  Floats data(10);
  runtime::Run& run = must_post(rank.communicator, broadcast_call(data, 1));
  const auto begin = clock.now();
  const Status waited = rank.communicator.wait(run, 30min);
  EXPECT_EQ(waited.message().rfind("1800000 ms have passed", 0), 0u) << waited.to_string();
  EXPECT_GE(clock.now() - begin, 30min);
  EXPECT_NEAR(rank.executor.job_counters().wait_seconds, 1800, 60);
  EXPECT_FALSE(run.finished);
}

TEST(VirtualClock, WhoWaitsBesideAProgressThreadSeesItMoved) {
  constexpr std::chrono::hours decade{87'600};
  HandClock clock;
  runtime::ExecutorOptions options = timed_by(clock);
  options.progress_thread = true;
  options.deadline = decade;
  LoneRank rank(2, options);
  Floats data(10);
  runtime::Run& run = must_post(rank.communicator, broadcast_call(data, 1));
  Status waited;
  std::atomic<bool> returned = false;
  std::thread waiter([&] {
    waited = rank.communicator.wait(run, 1h);
    returned = true;
  });
  while (!returned) {
    clock.move(1min);
    std::this_thread::sleep_for(100us);
  }
  waiter.join();
  EXPECT_EQ(waited.message().rfind("3600000 ms have passed", 0), 0u) << waited.to_string();
  clock.move(decade);
  waited = rank.communicator.wait(run);
  EXPECT_NE(waited.message().find("the deadline has passed"), std::string::npos) << waited.to_string();
}

TEST(VirtualClock, ABrokenConnectionEndsCallsAfterItsGrace) {
  HandClock clock;
  LoneRank rank(2, timed_by(clock));
  Floats data(10);
  const runtime::Run& run = must_post(rank.communicator, broadcast_call(data, 1));
  rank.wire.lose(1);
  rank.progress();
  clock.move(runtime::broken_link_grace - 1ns);
  rank.progress();
  EXPECT_FALSE(run.finished);
  clock.move(1ns);
  rank.progress();
  EXPECT_EQ(run.status.code(), Code::Transport) << run.status.to_string();
}

TEST(VirtualClock, ABrokenConnectionEndsReceivesThatMayNeedIt) {
  for (const Rank from : {Rank{1}, any_rank}) {
    HandClock clock;
    LoneRank rank(2, timed_by(clock));
    Floats data(10);
    const auto receive = rank.communicator.post(Receive{.data = data.data(), .count = 10, .from = from, .tag = 1});
    ASSERT_TRUE(receive);
    rank.wire.lose(1);
    rank.progress();
    clock.move(runtime::broken_link_grace - 1ns);
    rank.progress();
    EXPECT_FALSE((*receive)->finished);
    clock.move(1ns);
    rank.progress();
    EXPECT_EQ((*receive)->status.code(), Code::Transport) << from << ": " << (*receive)->status.to_string();
  }
}

TEST(VirtualClock, AStalledCallTellsOfWhomItWaitsAndHowMuchHasComeFromThere) {
  HandClock clock;
  runtime::ExecutorOptions options = timed_by(clock);
  options.deadline = 48h;
  LoneRank rank(2, options);
  std::vector<runtime::Trouble> reports;
  rank.executor.set_reporter([&](const runtime::Trouble& report) { reports.push_back(report); });
  Floats data(10), more(10);
  must_post(rank.communicator, broadcast_call(data, 1));
  rank.arrive(rank.header_of(0, 40), data, 0, 40);
  must_post(rank.communicator, broadcast_call(more, 1));
  rank.progress();
  clock.move(24h);
  rank.progress();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].kind, runtime::Trouble::Kind::Stalled);
  ASSERT_EQ(reports[0].waits.size(), 1u);
  EXPECT_EQ(reports[0].waits[0].peer, 1);
  EXPECT_EQ(reports[0].waits[0].received, rank.executor.counters(1).messages_received);
}

TEST(VirtualClock, ACallThatIsLateIsReportedThoughTheRestGoesOnAndAgainWithEachStall) {
  HandClock clock;
  runtime::ExecutorOptions options = timed_by(clock);
  options.stall = 2s;
  LoneRank rank(2, options);
  std::vector<runtime::Trouble> reports;
  rank.executor.set_reporter([&](const runtime::Trouble& report) { reports.push_back(report); });
  Floats data(10);
  must_post(rank.communicator, broadcast_call(data, 1));
  for (std::uint32_t second = 0; second < 70; ++second) {
    clock.move(1s);
    rank.arrive(LoneRank::message(3, second, 40), data, 0, 40);
  }
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].kind, runtime::Trouble::Kind::Stalled);
  EXPECT_EQ(reports[0].waits.size(), 1u);
  EXPECT_GE(reports[0].waited, 60s);
  EXPECT_LE(reports[0].waited, 62s);
  clock.move(50s);
  rank.progress();
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[1].waited, 120s);
}

TEST(VirtualClock, AMessageThatIsLateIsLoggedByWhoWaitsForIt) {
  const Warnings warnings;
  HandClock clock;
  runtime::ExecutorOptions options = timed_by(clock);
  options.stall = 2s;
  LoneRank rank(2, options);
  Floats data(10), more(10);
  for (const Rank from : {Rank{1}, any_rank}) {
    ASSERT_TRUE(rank.communicator.post(Receive{.data = more.data(), .count = 10, .from = from, .tag = 5}));
  }
  clock.move(60s - 1ns);
  rank.progress();
  EXPECT_EQ(warnings.lines(), (std::vector<std::string>{}));
  for (int i = 0; i < 2; ++i) {
    clock.move(2s);
    rank.progress();
  }
  EXPECT_EQ(warnings.lines(), (std::vector<std::string>{"executor: rank 0 has waited for rank 1 for 62 s: receive from "
                                                        "rank 1 with tag 5: no message has come"}));
}

TEST(VirtualClock, AMessageInTheMemoryOfOneThatWasLateIsLateAnew) {
  const Warnings warnings;
  HandClock clock;
  runtime::ExecutorOptions options = timed_by(clock);
  options.stall = 60s;
  LoneRank rank(2, options);
  Floats data(10), room(10);
  for (std::uint32_t number = 0; number < 2; ++number) {
    const auto receive = rank.communicator.post(Receive{.data = room.data(), .count = 10, .from = 1, .tag = 5});
    ASSERT_TRUE(receive);
    clock.move(60s);
    rank.progress();
    EXPECT_EQ(warnings.lines().size(), number + 1);
    rank.arrive(LoneRank::message(5, number, 40), data, 0, 40);
    ASSERT_TRUE((*receive)->finished);
    rank.communicator.release(**receive);
  }
}

TEST(VirtualClock, CountersAndRecordsTellItsTime) {
  HandClock clock;
  runtime::ExecutorOptions options = timed_by(clock);
  options.trace_events = 10;
  LoneRank rank(2, options);
  Floats data(10);
  must_post(rank.communicator, broadcast_call(data, 1));
  clock.move(5min);
  rank.arrive(rank.header_of(0, 40), data, 0, 40);
  const CommunicatorCounters counted = rank.executor.job_counters().communicators.at(0);
  EXPECT_EQ(counted.calls[static_cast<std::size_t>(Collective::Broadcast)].seconds, 300);
  EXPECT_NE(rank.executor.flight_record().find("+300000000000"), std::string::npos) << rank.executor.flight_record();
  const auto& events = rank.executor.tracer()->events();
  EXPECT_EQ(rank.executor.time_scale().seconds(events.back().ticks - events.front().ticks), 300);
}

TEST(VirtualClock, NoLoopSleepsByIt) {
  HandClock clock;
  for (const bool real : {false, true}) {
    RanksOptions options{.network = {}, .executor = timed_by(clock)};
    if (real) options.executor.time = {};
    Ranks ranks(1, options);
    ranks.executor(0).progress();
    EXPECT_EQ(ranks.executor(0).arm(), real);
  }
}

}  // namespace
}  // namespace lacuna::test
