#include "tests/support/event_loop.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <thread>

#include "tests/support/environment.hpp"

namespace lacuna::test {
namespace {

using namespace std::chrono_literals;
using Floats = std::vector<float>;

constexpr std::chrono::milliseconds patience = 3s;

std::vector<Communicator> callers(Rank size) { return *Communicator::local(size, {.progress = Progress::Caller}); }

bool readable(const Communicator& communicator, std::chrono::milliseconds within = 0ms) {
  pollfd sleeper{communicator.event_fd(), POLLIN, 0};
  return ::poll(&sleeper, 1, static_cast<int>(within.count())) == 1;
}

/// Returns the outcome of the next completion, or says that the loop slept for too long.
Status next_outcome(Communicator& communicator) {
  Status outcome;
  const bool served = serve(communicator, patience, [&](const Completion& completion) {
    outcome = completion.status;
    return true;
  });
  return served ? outcome : Status(Code::Internal, "the loop was not woken");
}

TEST(EventLoop, ACallThatARankNeverPostsEndsAtItsDeadlineWithThatRanksName) {
  auto ranks = callers(2);
  Floats data(10);
  auto call = ranks[0].start(broadcast<float>(data, 1, {.deadline = 200ms, .notify = 1}));
  ASSERT_TRUE(call);
  const Status outcome = next_outcome(ranks[0]);
  EXPECT_EQ(outcome.code(), Code::TimedOut) << outcome.to_string();
  EXPECT_NE(outcome.message().find("rank 1 has not posted it"), std::string::npos) << outcome.to_string();
}

TEST(EventLoop, AReceiveThatNoMessageMeetsEndsAtItsDeadline) {
  auto ranks = callers(2);
  Floats data(10);
  auto receive = ranks[0].start_receive<float>(data, 1, 7, {.deadline = 200ms, .notify = 1});
  ASSERT_TRUE(receive);
  EXPECT_EQ(next_outcome(ranks[0]).code(), Code::TimedOut);
  EXPECT_TRUE(ranks[0].status());
}

TEST(EventLoop, ATimerThatHasRunOutLetsTheLoopSleepUntilTheNextOne) {
  const Variable stall("LACUNA_STALL", "never");
  auto ranks = callers(2);
  Floats data(10), more(10);
  auto soon = ranks[0].start_receive<float>(data, 1, 7, {.deadline = 50ms, .notify = 1});
  auto late = ranks[0].start_receive<float>(more, 1, 8);
  ASSERT_TRUE(soon && late);
  EXPECT_EQ(next_outcome(ranks[0]).code(), Code::TimedOut);
  while (!ranks[0].arm()) ranks[0].progress();
  EXPECT_FALSE(readable(ranks[0]));
  ASSERT_TRUE(ranks[1].send<float>(std::span<const float>(data), 0, 8));
  EXPECT_TRUE(late->wait());
}

TEST(EventLoop, AStallIsComparedWithTheOtherRanksWhileTheLoopSleeps) {
  const Variable stall("LACUNA_STALL", "0.2");
  auto ranks = callers(2);
  Floats data(10), other(9);
  auto first = ranks[0].start(broadcast<float>(data, 1, {.notify = 1}));
  auto second = ranks[1].start(broadcast<float>(other, 0));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(next_outcome(ranks[0]).code(), Code::Mismatch);
}

TEST(EventLoop, ACallPostedElsewhereEndsAtItsDeadlineThoughTheLoopSleepsAlready) {
  auto ranks = callers(2);
  ASSERT_TRUE(ranks[0].arm());
  Floats data(10);
  Request receive;
  std::thread([&] { receive = *ranks[0].start_receive<float>(data, 1, 7, {.deadline = 200ms, .notify = 1}); }).join();
  ASSERT_TRUE(readable(ranks[0], patience));
  EXPECT_EQ(next_outcome(ranks[0]).code(), Code::TimedOut);
}

TEST(EventLoop, APostWakesTheLoopThatIsAboutToSleep) {
  auto ranks = callers(2);
  Floats data(10);
  auto before = ranks[0].start(broadcast<float>(data, 1));
  while (ranks[0].progress()) continue;
  EXPECT_FALSE(readable(ranks[0]));
  ASSERT_TRUE(ranks[0].arm());
  EXPECT_FALSE(readable(ranks[0]));
  auto after = ranks[0].start(broadcast<float>(data, 1));
  EXPECT_TRUE(readable(ranks[0]));
  EXPECT_FALSE(ranks[0].arm());
  ranks[0].progress();
  EXPECT_TRUE(ranks[0].arm());
  EXPECT_FALSE(readable(ranks[0]));
  auto theirs = ranks[1].start(broadcast<float>(data, 1));
  auto theirs_too = ranks[1].start(broadcast<float>(data, 1));
  while (!before->test() || !after->test() || !theirs->test() || !theirs_too->test()) continue;
}

// As a coroutine that calls lacuna does while the loop thinks that it may sleep.
TEST(EventLoop, ACallThatEndsInAWaitOfTheLoopsOwnThreadWakesIt) {
  auto ranks = callers(2);
  Floats data[4] = {Floats(10), Floats(10), Floats(10, 5), Floats(10, 6)};
  auto first = ranks[0].start(broadcast<float>(data[0], 1));
  while (ranks[0].progress() || !ranks[0].arm()) continue;
  auto theirs = ranks[1].start(broadcast<float>(data[2], 1));
  auto theirs_too = ranks[1].start(broadcast<float>(data[3], 1));
  ASSERT_TRUE(ranks[0].call(broadcast<float>(data[1], 1)));
  EXPECT_EQ(data[0], data[2]);
  EXPECT_TRUE(readable(ranks[0], patience)) << "the loop sleeps over the end of the first call";
  while (!first->test() || !theirs->test() || !theirs_too->test()) continue;
}

TEST(EventLoop, ACallThatEndedBeforeTheLoopSleepsIsNotSleptOver) {
  for (const Progress progress : {Progress::Caller, Progress::Thread}) {
    auto ranks = *Communicator::local(2, {.progress = progress});
    Floats sent(10, 1), data(10);
    ASSERT_TRUE(ranks[1].call(broadcast<float>(sent, 1)));
    std::this_thread::sleep_for(50ms);
    while (ranks[0].progress()) {
    }
    auto request = ranks[0].start(broadcast<float>(data, 1));  // its message is there, so it ends at once
    ASSERT_TRUE(request);
    std::this_thread::sleep_for(50ms);
    bool ended = false;
    for (int round = 0; round < 10 && !ended; ++round) {
      if (ranks[0].arm()) {
        ASSERT_TRUE(readable(ranks[0], patience)) << "the loop slept over the end";
      }
      while (ranks[0].progress()) {
      }
      ended = request->test();
    }
    EXPECT_TRUE(ended);
    EXPECT_EQ(data, sent);
  }
}

TEST(EventLoop, NothingWakesALoopWithoutCalls) {
  const Variable stall("LACUNA_STALL", "0.05");
  auto ranks = callers(2);
  Floats data[2] = {Floats(10, 7), Floats(10)};
  auto sent = ranks[1].start(broadcast<float>(data[0], 1, {.deadline = 100ms}));
  auto received = ranks[0].start(broadcast<float>(data[1], 1, {.deadline = 100ms}));
  while (!received->test() || !sent->test()) continue;
  while (!ranks[0].arm()) ranks[0].progress();
  EXPECT_FALSE(readable(ranks[0], 300ms));
}

TEST(EventLoop, WithAThreadThatMakesProgressALoopIsWokenByEveryCallThatEnds) {
  auto ranks = *Communicator::local(2, {.progress = Progress::Thread});
  Floats data[2] = {Floats(10, 7), Floats(10)};
  auto received = ranks[0].start(broadcast<float>(data[1], 1));
  while (!ranks[0].arm()) continue;
  EXPECT_FALSE(readable(ranks[0], 50ms));
  auto sent = ranks[1].start(broadcast<float>(data[0], 1));
  ASSERT_TRUE(readable(ranks[0], patience));
  EXPECT_TRUE(received->test());
}

TEST(EventLoop, ServesTenThousandPostsOfTwoOtherThreads) {
  auto ranks = callers(2);
  std::vector<Status> outcomes(ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    threads.emplace_back([&, rank] { outcomes[rank] = post_into_a_loop(ranks[rank], 5000); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Status& outcome : outcomes) EXPECT_TRUE(outcome) << outcome.to_string();
}

}  // namespace
}  // namespace lacuna::test
