#include <gtest/gtest.h>

#include "runtime/job/inquiry.hpp"
#include "tests/runtime/job/watch_job.hpp"

/// These tests show what it means for other ranks if a rank leaves the job.
namespace lacuna::runtime {
namespace {

using namespace std::chrono_literals;
using Kind = Trouble::Kind;

TEST(WatchOfThreads, GoodbyesInAnyOrderAreNoDeaths) {
  for (const std::vector<std::size_t>& order : {std::vector<std::size_t>{0, 1, 2}, {2, 1, 0}, {1, 0, 2}}) {
    Local job(3);
    for (std::size_t rank : order) job.leave(rank, 5);
    job.expect_no_verdict();
  }
}

TEST(WatchOfThreads, SimultaneousGoodbyesAreNoDeaths) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    Local job(4);
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < 4; ++rank) threads.emplace_back([&job, rank] { job.leave(rank, 1); });
    for (std::thread& thread : threads) thread.join();
    job.expect_no_verdict();
  }
}

TEST(WatchOfThreads, ACallThatALeaverNeverPostedFails) {
  Local job(4);
  job.leave(3, 17);
  job.watches[1]->report(trouble(Kind::Stalled, 17));
  job.expect_verdict_everywhere_but(3, "peer failed: rank 3 left the job before call 17");
}

TEST(WatchOfThreads, ACallThatALeaverPostedGoesOn) {
  Local job(3);
  job.leave(2, 18);
  job.watches[1]->report(trouble(Kind::Stalled, 17));
  job.expect_no_verdict();
}

TEST(WatchOfThreads, AfterRankZeroLeftARankInTroubleDecidesAlone) {
  Local job(3);
  job.leave(0, 17);
  job.watches[1]->report(trouble(Kind::Stalled, 17));
  EXPECT_EQ(job.clients[1].verdict(), "peer failed: rank 0 left the job before call 17");
  job.watches[2]->report(trouble(Kind::Expired, 16, "barrier"));
  EXPECT_EQ(job.clients[2].verdict(),
            "timed out: call 16 ran out of time: barrier; rank 0 (host h0) has left, so that nobody knows who is late");
}

TEST(WatchOfThreads, AfterRankZeroLeftTheMembersOfACallThatDoesNotGoOnAreToldOfIt) {
  Local job(3);
  job.leave(0, 18);
  job.watches[1]->report(trouble(Kind::Stalled, 17));
  EXPECT_EQ(job.clients[1].told_members(), (std::pair<std::uint64_t, std::uint32_t>(1, 17)));
  job.expect_no_verdict();
}

TEST(WatchOfThreads, AfterRankZeroLeftAMismatchNamesWhatBothSidesHavePosted) {
  Local job(3);
  job.leave(0, 0);
  job.clients[1].post(3, 7, "this");
  Trouble differs = trouble(Kind::Mismatch, 3);
  differs.members = {1, 2};
  differs.heard = {{2, {.digest = 8, .text = "that"}}};
  job.watches[1]->report(differs);
  EXPECT_EQ(job.clients[1].verdict(), "mismatch: call 3 of ranks 1, 2 differs: rank 1 posted this; rank 2 posted that");
}

TEST(WatchOfThreads, AfterAVerdictARankLeavesWhenAllHaveStopped) {
  Local job(4, {.stop = 60s});
  job.clients[2].stop_after(300ms);
  const auto begin = Clock::now();
  job.watches[3].reset();
  EXPECT_NE(job.clients[1].verdict(), "(none)");
  job.leave(1, 0);
  EXPECT_GE(Clock::now() - begin, 300ms);
  EXPECT_TRUE(job.clients[1].released(0ms));
}

TEST(WatchOfThreads, ALeavingRankIsHeardByThoseWhoseCallersAreElsewhere) {
  for (std::size_t leaver : {0, 2}) {
    Local job(3);
    for (WatchedProcess& client : job.clients) EXPECT_EQ(client.helps(), 0);
    job.watches[leaver]->leave({});
    for (std::size_t rank = 0; rank < 3; ++rank) {
      const auto until = Clock::now() + 10s;
      while (rank != leaver && job.clients[rank].helps() < 3 && Clock::now() < until) std::this_thread::sleep_for(1ms);
      EXPECT_GE(job.clients[rank].helps(), rank == leaver ? 0 : 3);
    }
  }
}

TEST(WatchOfThreads, AfterRankZeroLeftLaterLeaversAreStillHeard) {
  Local job(3, {}, 10s, Time::ByHand);
  job.leave(0, 0);
  while (job.clients[2].helps() == 0) std::this_thread::yield();  // rank 2 has heard of it
  job.pass(longest_leave + 500ms, {1, 2});
  const int before = job.clients[2].helps();
  while (job.clients[2].helps() == before) job.pass(500ms, {1, 2});
}

TEST(WatchOfThreads, AReportThatCrossesTheGoodbyeOfRankZeroIsDecidedAlone) {
  Local job(2, {.fallback = 60s});
  job.watches[0]->leave({{.communicator = 1, .next_run = 17}});
  job.watches[1]->report(trouble(Kind::Expired, 17));
  EXPECT_EQ(job.clients[1].verdict(), "peer failed: rank 0 left the job before call 17");
}

TEST(WatchOfThreads, ALeavingRankStillHearsAVerdict) {
  Local job(3);
  job.watches[1]->leave({});
  job.watches[2].reset();
  EXPECT_EQ(job.clients[1].verdict(), "peer failed: rank 2 (host h2) died: its connection ended without a goodbye");
  EXPECT_TRUE(job.clients[1].released());
}

TEST(WatchOfThreads, DestructionIsPromptAlsoWhenAPeerDoesNotAnswerTheGoodbye) {
  const test::ReservedPort port;
  Membership peer;
  std::thread other([&] { peer = enter(1, 2, port.store(), 10s); });
  Membership membership = enter(0, 2, port.store(), 10s);
  other.join();
  WatchedProcess client;
  auto watch = *Watch::start(membership, client);
  const auto begin = Clock::now();
  watch->leave({});
  watch.reset();
  EXPECT_LT(Clock::now() - begin, 2s);
}

TEST(WatchOfThreads, AMessageOfARankThatHasLeftFailsOnceItCanNoLongerCome) {
  Local job(3, {}, 10s, Time::ByHand);
  job.leave(2, 0);
  while (job.clients[1].helps() == 0) std::this_thread::yield();  // rank 1 has heard of it
  job.watches[1]->report(message_trouble(Kind::Stalled, 2));
  job.pass(longest_leave, {0, 1});
  EXPECT_EQ(job.clients[1].verdicts(), 0u);
  job.watches[1]->report(message_trouble(Kind::Stalled, 2));
  job.expect_verdict_everywhere_but(
      2, "peer failed: rank 2 left the job before a message with tag 2 between ranks 1 and 2");
}

}  // namespace
}  // namespace lacuna::runtime
