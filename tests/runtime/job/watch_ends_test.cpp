#include <gtest/gtest.h>

#include "runtime/job/watch_messages.hpp"
#include "tests/runtime/job/watch_job.hpp"

namespace lacuna::runtime {
namespace {

using namespace std::chrono_literals;
using Kind = Trouble::Kind;

TEST(WatchEnds, AVerdictOnACommunicatorReachesItsMembersAndTheJobGoesOn) {
  Local job(4);
  for (std::size_t rank : {1, 3}) job.clients[rank].post(3, 7 + rank, "posted by " + std::to_string(rank));
  Trouble differs = trouble(Kind::Mismatch, 3);
  differs.members = {3, 1};
  job.watches[3]->report(differs);
  const std::string verdict =
      "mismatch: call 3 of ranks 1, 3 differs: rank 1 posted posted by 1; rank 3 posted posted by 3";
  for (std::size_t rank : {1, 3}) EXPECT_EQ(job.clients[rank].verdict(), verdict);
  Trouble expired = trouble(Kind::Expired, 5, "barrier");
  expired.communicator = 2;
  job.watches[0]->report(expired);
  const std::string other = "timed out: call 5 ran out of time on rank 0: barrier; ranks 0-3 have not posted it";
  for (std::size_t rank : {0, 2}) EXPECT_EQ(job.clients[rank].verdict(), other);
  for (std::size_t rank : {1, 3}) {
    const auto until = Clock::now() + 10s;
    while (job.clients[rank].verdicts() < 2 && Clock::now() < until) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(job.clients[rank].all_verdicts(), (std::vector<std::string>{verdict, other}));
  }
  for (const WatchedProcess& client : job.clients) EXPECT_FALSE(client.has_failed());
}

TEST(WatchEnds, ADeathStillEndsTheJobAfterAVerdictOnACommunicator) {
  Local job(3);
  job.watches[1]->report(trouble(Kind::Expired, 3, "barrier"));
  for (WatchedProcess& client : job.clients) EXPECT_NE(client.verdict(), "(none)");
  job.watches[2].reset();
  for (std::size_t rank : {0, 1}) {
    EXPECT_TRUE(job.clients[rank].released());
    EXPECT_TRUE(job.clients[rank].has_failed());
    EXPECT_EQ(job.clients[rank].all_verdicts().back(),
              "peer failed: rank 2 (host h2) died: its connection ended without a goodbye");
  }
}

TEST(WatchEnds, MembersOfAFailedCommunicatorAreMadeToLetGo) {
  Local job(3);
  job.watches[1]->report(trouble(Kind::Expired, 3, "barrier"));
  for (const WatchedProcess& client : job.clients) {
    const auto until = Clock::now() + 10s;
    while (client.helps() < 3 && Clock::now() < until) std::this_thread::sleep_for(1ms);
    EXPECT_GE(client.helps(), 3);
  }
}

TEST(WatchEnds, ABrokenConnectionIsTheTransportsAndNoDeadline) {
  for (const Rank left : {-1, 0}) {
    Local job(3);
    if (left == 0) job.leave(0, 17);
    job.watches[1]->report(trouble(Kind::Broken, 3, "the connection between ranks 1 and 2 broke"));
    const std::string where = left == 0 ? "" : " on rank 1";
    EXPECT_EQ(job.clients[1].verdict(),
              "transport error: call 3 failed" + where + ": the connection between ranks 1 and 2 broke");
  }
}

// Rank 0 hears of a death, tells it, and says goodbye before the others are released.
TEST(WatchEnds, AGoodbyeOfRankZeroAfterItsVerdictLetsTheOthersBeReleased) {
  Local job(4, {.stop = 100ms});
  job.clients[1].stop_after(300ms);
  job.watches[3].reset();
  EXPECT_NE(job.clients[0].verdict(), "(none)");
  job.leave(0, 0);
  for (std::size_t rank : {1, 2}) EXPECT_TRUE(job.clients[rank].released());
}

TEST(WatchEnds, AfterRankZeroLeftAVerdictMakesNoWatchSpin) {
  Local job(4, {.fallback = 10ms, .stop = 10ms});
  job.leave(0, 17);
  job.watches[1]->report(trouble(Kind::Expired, 16, "barrier"));
  EXPECT_NE(job.clients[1].verdict(), "(none)");
  std::this_thread::sleep_for(100ms);         // this is longer than a rank waits for the others to stop
  const int before = job.clients[1].helps();  // it helps once in each round of its watch
  std::this_thread::sleep_for(300ms);
  EXPECT_LT(job.clients[1].helps() - before, 300);
}

TEST(WatchEnds, AMessageLongerThanAnyOfTheWatchEndsTheJob) {
  for (const std::size_t more : {0, 1}) {
    test::ReservedPort port;
    Membership memberships[2];
    std::thread other([&] { memberships[1] = enter(1, 2, port.store(), 10s); });
    memberships[0] = enter(0, 2, port.store(), 10s);
    other.join();
    WatchedProcess client;
    const auto watch = *Watch::start(memberships[0], client, {});
    Channel& channel = memberships[1].star[0];
    channel.send(0, std::vector<std::byte>(watch_messages::longest_message + more));
    const auto until = Clock::now() + 2s;
    while (client.verdict(1ms) == "(none)" && Clock::now() < until) channel.flush();
    const bool is_refused =
        client.verdict(0ms).find("sent something that is no message of the watch") != std::string::npos;
    EXPECT_EQ(is_refused, more == 1) << client.verdict(0ms);
  }
}

// This is as if very many messages of a communicator expire at once: more than a connection may hold.
TEST(WatchEnds, OneReportOfACommunicatorThatFailsIsEnough) {
  Local job(3);
  job.clients[2].answer(false);
  for (std::uint32_t run = 0; run < 60'000; ++run) {
    job.watches[1]->report(trouble(Kind::Expired, run, std::string(200, 'x')));
  }
  EXPECT_EQ(job.clients[1].verdict().substr(0, 34), "timed out: call 0 ran out of time ");
  job.clients[2].answer(true);
  EXPECT_EQ(job.clients[2].verdict(), job.clients[1].verdict());
  for (const WatchedProcess& client : job.clients) EXPECT_FALSE(client.has_failed());
}

TEST(WatchEnds, ATroubleThatRankZeroHasNoRoomForIsDecidedAtOnce) {
  Local job(3, {.gather = 60s, .fallback = 60s});
  job.clients[2].answer(false);
  for (std::uint32_t i = 0; i < 40; ++i) {
    job.watches[1]->report({.kind = Kind::Stalled, .communicator = 1000 + i, .run = 0, .text = "barrier"});
    job.watches[1]->report({.kind = Kind::Expired, .communicator = i, .run = 0, .text = "barrier"});
  }
  const auto until = Clock::now() + 10s;
  while (job.clients[1].all_verdicts().size() < 24 && Clock::now() < until) std::this_thread::sleep_for(1ms);
  const std::vector<std::string> verdicts = job.clients[1].all_verdicts();
  EXPECT_EQ(verdicts.size(), 24u);
  for (const std::string& verdict : verdicts) {
    EXPECT_EQ(verdict,
              "timed out: call 0 ran out of time: barrier; rank 0 (host h0) is already asking about 16 other calls");
  }
  job.clients[2].answer(true);
}

// Each open inquiry of rank 0 is one question to rank 2, which has not answered yet.
TEST(WatchEnds, AFloodOfReportsKeepsFewInquiriesOpen) {
  for (Kind kind : {Kind::Stalled, Kind::Expired}) {
    Local job(4, {.gather = 60s, .fallback = 60s, .throttle = 1ms});
    job.clients[2].answer(false);
    for (std::uint32_t i = 0; i < 20'000; ++i) {
      job.watches[1]->report({.kind = kind, .communicator = i, .run = i, .text = std::string(60, 'x')});
    }
    job.watches[1]->leave({});
    const auto until = Clock::now() + 30s;
    while (job.clients[3].helps() == 0 && Clock::now() < until) std::this_thread::sleep_for(1ms);
    EXPECT_GT(job.clients[3].helps(), 0);  // rank 0 has read everything that rank 1 said
    job.clients[2].answer(true);
    while (job.clients[2].helps() == 0 && Clock::now() < until) std::this_thread::sleep_for(1ms);
    EXPECT_GT(job.clients[2].questions(), 0);  // rank 2 has read everything that rank 0 has asked
    EXPECT_LE(job.clients[2].questions(), 64);
  }
}

}  // namespace
}  // namespace lacuna::runtime
