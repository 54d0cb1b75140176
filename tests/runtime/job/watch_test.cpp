#include "runtime/job/watch.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

#include "runtime/job/inquiry.hpp"
#include "tests/runtime/job/watch_job.hpp"

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

TEST(WatchOfThreads, GoodbyesInAnyOrderAreNoDeaths) {
  for (const std::vector<std::size_t>& order : {std::vector<std::size_t>{0, 1, 2}, {2, 1, 0}, {1, 0, 2}}) {
    Local job(3);
    for (std::size_t rank : order) job.leave(rank, 5);
    job.expect_no_verdict(20ms);
  }
}

TEST(WatchOfThreads, SimultaneousGoodbyesAreNoDeaths) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    Local job(4);
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < 4; ++rank) threads.emplace_back([&job, rank] { job.leave(rank, 1); });
    for (std::thread& thread : threads) thread.join();
    job.expect_no_verdict(0ms);
  }
}

TEST(WatchOfThreads, AMismatchNamesBothSidesOnAllRanks) {
  Local job(4);
  for (Client& client : job.clients) client.post(17, 100, "allreduce ring f32 sum count 1000");
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
    job.expect_no_verdict(50ms);
  }
  for (Client& client : job.clients) EXPECT_EQ(client.questions(), 1);
}

TEST(WatchOfThreads, AnExpiryDuringAStallIsNotThrottled) {
  Local job(2);
  job.watches[1]->report(trouble(Kind::Stalled, 3));
  job.watches[1]->report(trouble(Kind::Expired, 3, "barrier"));
  job.expect_verdict_everywhere("timed out: call 3 ran out of time on rank 1: barrier; ranks 0, 1 have not posted it");
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
  job.expect_no_verdict(0ms);
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
  for (const Client& client : job.clients) EXPECT_EQ(client.verdicts(), 1u);
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

TEST(WatchOfThreads, TheDeathOfRankZeroReleasesTheOthersAfterAWhile) {
  Local job(3, {.stop = 50ms});
  job.watches[0].reset();
  for (std::size_t rank : {1, 2}) {
    EXPECT_TRUE(job.clients[rank].released());
    EXPECT_FALSE(job.clients[rank].all_have_stopped());  // nobody knows
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

TEST(WatchOfThreads, ALeavingRankIsHeardByThoseWhoseCallersAreElsewhere) {
  for (std::size_t leaver : {0, 2}) {
    Local job(3);
    for (Client& client : job.clients) EXPECT_EQ(client.helps(), 0);
    job.watches[leaver]->leave({});
    for (std::size_t rank = 0; rank < 3; ++rank) {
      const auto until = Clock::now() + 10s;
      while (rank != leaver && job.clients[rank].helps() < 3 && Clock::now() < until) std::this_thread::sleep_for(1ms);
      EXPECT_GE(job.clients[rank].helps(), rank == leaver ? 0 : 3);
    }
  }
}

TEST(WatchOfThreads, AfterRankZeroLeftLaterLeaversAreStillHeard) {
  Local job(3);
  job.leave(0, 0);
  std::this_thread::sleep_for(50ms);
  const int before = job.clients[2].helps();
  std::this_thread::sleep_for(longest_leave + 500ms);
  EXPECT_GT(job.clients[2].helps(), before + 100);
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
  Client client;
  Membership membership = enter(0, 1, "", 10s);
  const std::size_t before = threads();
  const auto watch = *Watch::start(membership, client);
  EXPECT_EQ(threads(), before);
  watch->report(trouble(Kind::Expired, 4, "copy"));
  EXPECT_EQ(client.verdict(), "timed out: call 4 ran out of time on rank 0: copy; rank 0 has not posted it");
}

TEST(WatchOfThreads, DestructionIsPromptAlsoWhenAPeerDoesNotAnswerTheGoodbye) {
  const test::ReservedPort port;
  Membership peer;
  std::thread other([&] { peer = enter(1, 2, port.store(), 10s); });
  Membership membership = enter(0, 2, port.store(), 10s);
  other.join();
  Client client;
  auto watch = *Watch::start(membership, client);
  const auto begin = Clock::now();
  watch->leave({});
  watch.reset();
  EXPECT_LT(Clock::now() - begin, 2s);
}

TEST(Judge, RanksOutsideTheCommunicatorDoNotCount) {
  Trouble expired = trouble(Kind::Expired, 3, "waits");
  expired.members = {3, 1};
  std::vector<Account> accounts(4, Account{.state = Account::State::LeftBefore, .posted = {}});
  accounts[1] = account_of(Watched::Posted{.digest = 5, .text = "barrier"});
  accounts[3] = account_of(std::nullopt);
  EXPECT_EQ(judge(expired, 1, accounts)->to_string(),
            "timed out: call 3 of ranks 1, 3 ran out of time on rank 1: waits; rank 3 has not posted it");
  expired.kind = Kind::Stalled;
  EXPECT_FALSE(judge(expired, 1, accounts));
  accounts[0] = account_of(Watched::Posted{.digest = 6, .text = "broadcast"});
  EXPECT_FALSE(judge(expired, 1, accounts));
}

TEST(Throttle, LetsACallThroughOncePerInterval) {
  Throttle throttle(100ms);
  const Clock::time_point begin;
  EXPECT_TRUE(throttle.admit({1, 2}, begin));
  EXPECT_FALSE(throttle.admit({1, 2}, begin + 99ms));
  EXPECT_TRUE(throttle.admit({1, 3}, begin + 99ms));
  EXPECT_TRUE(throttle.admit({1, 2}, begin + 100ms));
}

TEST(Judge, ACallWhoseDigestIsForgottenDiffersFromNone) {
  std::vector<Account> accounts(2);
  accounts[0] = account_of(Watched::Posted{.digest = 0, .text = ""});
  accounts[1] = account_of(Watched::Posted{.digest = 5, .text = "barrier"});
  EXPECT_FALSE(judge(trouble(Kind::Stalled, 1), 0, accounts));
}

TEST(Judge, ALeaverThatNeverCalledOnACommunicatorLeftBefore) {
  const auto state_for = [](std::uint64_t communicator, std::uint32_t run) {
    Trouble missing = trouble(Kind::Stalled, run);
    missing.communicator = communicator;
    return account_of_leaver(missing, {{.communicator = 1, .next_run = 9}}, 1h).state;
  };
  EXPECT_EQ(state_for(2, 0), Account::State::LeftBefore);
  EXPECT_EQ(state_for(1, 9), Account::State::LeftBefore);
  EXPECT_EQ(state_for(1, 8), Account::State::Left);
}

/// As a rank reports that waits for a message of rank `peer`.
Trouble message_trouble(Kind kind, Rank peer) {
  Trouble missing = trouble(kind, 2, "receive");
  missing.name = "a message with tag 2 between ranks 1 and " + std::to_string(peer);
  missing.peer = peer;
  return missing;
}

TEST(WatchOfThreads, AMessageThatStallsIsNobodysTroubleWhileItsPeerIsThere) {
  Local job(4);
  for (const Rank peer : {0, 2, 3}) {
    for (std::size_t rank : {0, 1}) job.watches[rank]->report(message_trouble(Kind::Stalled, peer));
  }
  job.watches[1]->report(trouble(Kind::Expired, 3, "barrier"));
  job.expect_verdict_everywhere("timed out: call 3 ran out of time on rank 1: barrier; ranks 0-3 have not posted it");
  for (const Client& client : job.clients) EXPECT_EQ(client.questions(), 1);  // about the call
}

TEST(WatchOfThreads, NobodyIsAskedAboutAMessageThatExpires) {
  Local job(3, {.gather = 60s, .fallback = 60s});
  job.clients[2].answer(false);
  job.watches[1]->report(message_trouble(Kind::Expired, 2));
  job.expect_verdict_everywhere(
      "timed out: a message with tag 2 between ranks 1 and 2 ran out of time on rank 1: receive");
  job.clients[2].answer(true);
}

TEST(WatchOfThreads, AMessageOfARankThatHasLeftFailsOnceItCanNoLongerCome) {
  Local job(3, {.throttle = 10ms});
  job.leave(2, 0);
  const auto until = Clock::now() + 30s;
  while (job.clients[1].verdicts() == 0 && Clock::now() < until) {
    job.watches[1]->report(message_trouble(Kind::Stalled, 2));
    std::this_thread::sleep_for(50ms);
  }
  job.expect_verdict_everywhere_but(
      2, "peer failed: rank 2 left the job before a message with tag 2 between ranks 1 and 2");
}

TEST(Judge, WhatALeaverHasSentMayStillComeForAWhile) {
  Trouble missing = trouble(Kind::Stalled, 1);
  missing.name = "a message with tag 2 between ranks 0 and 1";
  std::vector<Account> accounts(2);
  accounts[1] = account_of_leaver(missing, {}, longest_leave - 1ms);
  EXPECT_FALSE(judge(missing, 0, accounts));
  accounts[1] = account_of_leaver(missing, {}, longest_leave);
  EXPECT_EQ(judge(missing, 0, accounts)->to_string(),
            "peer failed: rank 1 left the job before a message with tag 2 between ranks 0 and 1");
}

}  // namespace
}  // namespace lacuna::runtime
