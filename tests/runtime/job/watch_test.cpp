#include "runtime/job/watch.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

#include "tests/runtime/job/watch_job.hpp"
#include "tests/support/warnings.hpp"

namespace lacuna::runtime {
namespace {

using namespace std::chrono_literals;
using Kind = Trouble::Kind;

TEST(WatchOfThreads, AConnectionThatEndsWithoutAGoodbyeIsADeathOnAllSurvivors) {
  Local job(4);
  job.watches[2].reset();
  job.expect_verdict_everywhere_but(2, "peer failed: rank 2 (host h2) died: its connection ended without a goodbye");
  EXPECT_EQ(job.clients[2].verdicts(), 0u);
}

TEST(WatchOfThreads, TheDeathOfRankZeroIsNoticedByAllOthers) {
  Local job(3);
  job.watches[0].reset();
  job.expect_verdict_everywhere_but(0, "peer failed: rank 0 (host h0) died: its connection ended without a goodbye");
}

TEST(WatchOfThreads, AMismatchNamesBothSidesOnAllRanks) {
  Local job(4);
  for (WatchedProcess& client : job.clients) client.post(17, 100, "allreduce ring f32 sum count 1000");
  job.clients[2].post(17, 101, "allreduce ring f32 sum count 999");
  job.watches[3]->report(trouble(Kind::Mismatch, 17));
  job.expect_verdict_everywhere(
      "mismatch: call 17 differs: ranks 0, 1, 3 posted allreduce ring f32 sum count 1000; "
      "rank 2 posted allreduce ring f32 sum count 999");
}

TEST(WatchOfThreads, AMismatchThatNobodyElseSeesStillEndsInAVerdict) {
  Local job(3);
  job.watches[1]->report(trouble(Kind::Mismatch, 17, "digest 5, not 6, from rank 2"));
  job.expect_verdict_everywhere("mismatch: call 17 differs: rank 1 reports: digest 5, not 6, from rank 2");
}

TEST(WatchOfThreads, WhatOneRankRefusesIsToldToAllAtOnceThoughRanksPostedDifferentCallsOrNone) {
  Local job(4, {.gather = 60s, .fallback = 60s});
  for (std::size_t rank : {0, 1, 2}) job.clients[rank].post(17, 100 + rank, "allreduce");
  job.watches[2]->report(trouble(Kind::Refused, 17, "rank 2: select: a place beyond the data"));
  job.expect_verdict_everywhere("invalid argument: call 17 was refused: rank 2: select: a place beyond the data");
}

TEST(WatchOfThreads, AnExpiredCallNamesWhoIsLate) {
  Local job(4);
  for (std::size_t rank : {0, 2}) job.clients[rank].post(3, 9, "barrier");
  job.watches[2]->report(trouble(Kind::Expired, 3, "barrier, step 2, 0 bytes from rank 1 missing"));
  job.expect_verdict_everywhere(
      "timed out: call 3 ran out of time on rank 2: barrier, step 2, 0 bytes from rank 1 missing; ranks 1, 3 have not "
      "posted it");
}

TEST(WatchOfThreads, AnExpiredCallThatAllPostedSaysSo) {
  Local job(2);
  job.post_everywhere(3);
  job.watches[0]->report(trouble(Kind::Expired, 3, "barrier"));
  job.expect_verdict_everywhere("timed out: call 3 ran out of time on rank 0: barrier; all ranks have posted it");
}

TEST(WatchOfThreads, AStalledCallIsLeftAloneWhenNothingIsWrong) {
  Local job(3);
  job.clients[0].post(3, 9, "barrier");
  job.clients[1].post(3, 9, "barrier");
  job.watches[0]->report(trouble(Kind::Stalled, 3));
  job.watches[1]->report(trouble(Kind::Stalled, 3));
  job.expect_no_verdict();
}

TEST(WatchOfThreads, ALateCallIsLeftAloneAndTheLogSaysOnceForWhomItWaits) {
  const test::Warnings warnings;
  Local job(4, {.throttle = 1ms});
  for (std::size_t rank : {0, 1, 3}) job.clients[rank].post(3, 9, "barrier");
  Trouble late = trouble(Kind::Stalled, 3, "barrier, 0 bytes from rank 2 missing");
  late.waited = 61s;
  for (const std::size_t reporter : {1u, 0u, 3u}) {
    const int asked = job.clients[2].questions();
    while (job.clients[2].questions() == asked) {
      job.watches[reporter]->report(late);
      std::this_thread::sleep_for(1ms);
    }
  }
  EXPECT_EQ(warnings.first(),
            "job: call 3 has not ended on rank 1 after 61 s: barrier, 0 bytes from rank 2 missing; rank 2 has not "
            "posted it");
  job.watches[1]->report(trouble(Kind::Expired, 5));
  EXPECT_NE(job.clients[0].verdict().find("call 5"), std::string::npos);
  EXPECT_EQ(warnings.lines().size(), 1u);
}

TEST(WatchOfThreads, AStalledCallThatDiffersIsAMismatch) {
  Local job(2);
  job.clients[0].post(3, 9, "barrier");
  job.clients[1].post(3, 8, "broadcast");
  job.watches[1]->report(trouble(Kind::Stalled, 3));
  job.expect_verdict_everywhere("mismatch: call 3 differs: rank 0 posted barrier; rank 1 posted broadcast");
}

TEST(WatchOfThreads, RepeatedStallsOfOneCallAreLookedAtOncePerInterval) {
  Local job(3, {.throttle = 60s});
  for (const auto& watch : job.watches) {
    for (int i = 0; i < 1000; ++i) watch->report(trouble(Kind::Stalled, 3));
  }
  job.expect_no_verdict();
  for (const WatchedProcess& client : job.clients) EXPECT_EQ(client.questions(), 1 + 3) << "and one for each mark";
}

TEST(WatchOfThreads, AnExpiryDuringAStallIsNotThrottled) {
  Local job(2);
  job.watches[1]->report(trouble(Kind::Stalled, 3));
  job.watches[1]->report(trouble(Kind::Expired, 3, "barrier"));
  job.expect_verdict_everywhere("timed out: call 3 ran out of time on rank 1: barrier; ranks 0, 1 have not posted it");
}

// Rank 3 does not answer, so rank 0 is still asking about the stall when the deadline passes on another rank.
TEST(WatchOfThreads, AnExpiryIsOfTheRankThatReportsItThoughAnotherOneHasReportedAStall) {
  for (const std::size_t stalled : {0u, 1u, 2u}) {
    for (const std::size_t expired : {0u, 1u, 2u}) {
      Local job(4, {.gather = 500ms});
      job.post_everywhere(3);
      job.clients[3].answer(false);
      job.watches[stalled]->report(trouble(Kind::Stalled, 3, "waits"));
      while (job.clients[0].questions() == 0) std::this_thread::yield();
      job.watches[expired]->report(trouble(Kind::Expired, 3, "is late"));
      job.expect_verdict_everywhere_but(3, "timed out: call 3 ran out of time on rank " + std::to_string(expired) +
                                               ": is late; rank 3 did not answer");
      job.clients[3].answer(true);
    }
  }
}

TEST(WatchOfThreads, OfManyTroublesTheFirstVerdictIsTheOnlyOne) {
  Local job(4);
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < 4; ++rank) {
    threads.emplace_back([&job, rank] {
      for (std::uint32_t run = 0; run < 20; ++run) job.watches[rank]->report(trouble(Kind::Expired, run));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string verdict = job.clients[0].verdict();
  job.expect_verdict_everywhere(verdict);
  std::this_thread::sleep_for(50ms);
  for (const WatchedProcess& client : job.clients) EXPECT_EQ(client.verdicts(), 1u);
}

TEST(WatchOfThreads, NobodyIsReleasedBeforeAllHaveStopped) {
  for (std::size_t late : {0, 1, 3}) {
    Local job(5, {.stop = 60s});
    job.clients[late].stop_after(300ms);
    const auto begin = Clock::now();
    job.watches[4].reset();
    for (std::size_t rank = 0; rank < 4; ++rank) {
      EXPECT_TRUE(job.clients[rank].released());
      EXPECT_TRUE(job.clients[rank].all_have_stopped());
    }
    EXPECT_GE(Clock::now() - begin, 300ms);
  }
}

TEST(WatchOfThreads, TheDeathOfRankZeroReleasesTheOthersAfterAWhile) {
  Local job(3, {.stop = 50ms});
  job.watches[0].reset();
  for (std::size_t rank : {1, 2}) {
    EXPECT_TRUE(job.clients[rank].released());
    EXPECT_FALSE(job.clients[rank].all_have_stopped());  // nobody can know
  }
}

TEST(WatchOfThreads, TheDeathOfTheOnlyOtherRankReleasesAtOnce) {
  for (std::size_t survivor : {0, 1}) {
    Local job(2, {.stop = 60s});
    job.watches[1 - survivor].reset();
    EXPECT_TRUE(job.clients[survivor].released());
    EXPECT_TRUE(job.clients[survivor].all_have_stopped());
  }
}

TEST(WatchOfThreads, AReporterMayHoldTheLockThatTheVerdictTakes) {
  struct Locking : Watched {
    std::optional<Posted> posted(std::uint64_t, std::uint32_t) override { return std::nullopt; }
    void poison(std::uint64_t, const Status&) override {
      const auto deadline = Clock::now() + 5s;
      while (!lock.try_lock()) {
        if (Clock::now() > deadline) return;
        std::this_thread::sleep_for(1ms);
      }
      lock.unlock();
      got_it = true;
    }
    void fail(const Status&) override {}
    void release(bool) override {}
    void help() override {}
    std::uint64_t sent(Rank) override { return 0; }
    void tell_members(std::uint64_t, std::uint32_t) override {}
    std::mutex lock;
    std::atomic<bool> got_it = false;
  };
  Locking client;
  Membership membership = enter(0, 1, "", 10s);
  const auto watch = *Watch::start(membership, client);
  {
    const std::lock_guard lock(client.lock);
    watch->report(trouble(Kind::Expired, 0));
    std::this_thread::sleep_for(50ms);
    EXPECT_FALSE(client.got_it);
  }
  const auto deadline = Clock::now() + 5s;
  while (!client.got_it && Clock::now() < deadline) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(client.got_it);
}

TEST(WatchOfThreads, AJobOfOneRankHasNoThreadUntilSomethingIsReported) {
  const auto threads = [] {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) count += entry.exists() ? 1 : 0;
    return count;
  };
  WatchedProcess client;
  Membership membership = enter(0, 1, "", 10s);
  const std::size_t before = threads();
  const auto watch = *Watch::start(membership, client);
  EXPECT_EQ(threads(), before);
  watch->report(trouble(Kind::Expired, 4, "copy"));
  EXPECT_EQ(client.verdict(), "timed out: call 4 ran out of time on rank 0: copy; rank 0 has not posted it");
}

TEST(WatchOfThreads, AMessageThatStallsIsNobodysTroubleWhileItsPeerIsThere) {
  Local job(4);
  for (const Rank peer : {0, 2, 3}) {
    for (std::size_t rank : {0, 1}) job.watches[rank]->report(message_trouble(Kind::Stalled, peer));
  }
  job.watches[1]->report(trouble(Kind::Expired, 3, "barrier"));
  job.expect_verdict_everywhere("timed out: call 3 ran out of time on rank 1: barrier; ranks 0-3 have not posted it");
  for (const WatchedProcess& client : job.clients)
    EXPECT_EQ(client.questions(), 1);  // each rank was asked about the call only
}

TEST(WatchOfThreads, NobodyIsAskedAboutAMessageThatExpires) {
  Local job(3, {.gather = 60s, .fallback = 60s});
  job.clients[2].answer(false);
  job.watches[1]->report(message_trouble(Kind::Expired, 2));
  job.expect_verdict_everywhere(
      "timed out: a message with tag 2 between ranks 1 and 2 ran out of time on rank 1: receive");
  job.clients[2].answer(true);
}

}  // namespace
}  // namespace lacuna::runtime
