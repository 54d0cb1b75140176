#include "runtime/job/inquiry.hpp"

#include <gtest/gtest.h>

#include "tests/runtime/job/watch_job.hpp"

namespace lacuna::runtime {
namespace {

using namespace std::chrono_literals;
using Kind = Trouble::Kind;

TEST(Throttle, RemembersSoManyCallsAndLetsNoMoreThroughUntilTheFirstAreForgotten) {
  Throttle throttle(100ms);
  const Clock::time_point begin;
  for (std::uint32_t run = 0; run < Throttle::most_calls; ++run) {
    ASSERT_TRUE(throttle.admit({1, run}, begin + (run == 0 ? 0ms : 50ms))) << run;
  }
  for (std::uint32_t run = Throttle::most_calls; run < 3 * Throttle::most_calls; ++run) {
    ASSERT_FALSE(throttle.admit({1, run}, begin + 99ms)) << run;
  }
  EXPECT_TRUE(throttle.admit({2, 0}, begin + 100ms)) << "the first call is forgotten";
  EXPECT_FALSE(throttle.admit({2, 1}, begin + 100ms)) << "no other is";
  EXPECT_TRUE(throttle.admit({2, 1}, begin + 150ms)) << "all that came at 50 ms are";
  EXPECT_FALSE(throttle.admit({2, 0}, begin + 199ms)) << "a call that came at 100 ms is not";
}

TEST(Throttle, WhatIsNotLetThroughDoesNotBeginItsIntervalAnew) {
  Throttle throttle(100ms);
  const Clock::time_point begin;
  EXPECT_TRUE(throttle.admit({1, 2}, begin));
  EXPECT_FALSE(throttle.admit({1, 2}, begin + 60ms));
  EXPECT_TRUE(throttle.admit({1, 2}, begin + 100ms));
}

TEST(Judge, RanksOutsideTheCommunicatorDoNotCount) {
  Trouble expired = trouble(Kind::Expired, 3, "waits");
  expired.members = {3, 1};
  std::vector<Account> accounts(4, Account{.state = Account::State::LeftBefore, .posted = {}});
  accounts[1] = account_of(Posted{.digest = 5, .text = "barrier"});
  accounts[3] = account_of(std::nullopt);
  EXPECT_EQ(judge(expired, 1, accounts)->to_string(),
            "timed out: call 3 of ranks 1, 3 ran out of time on rank 1: waits; rank 3 has not posted it");
  expired.kind = Kind::Stalled;
  EXPECT_FALSE(judge(expired, 1, accounts));
  accounts[0] = account_of(Posted{.digest = 6, .text = "broadcast"});
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
  accounts[0] = account_of(Posted{.digest = 0, .text = ""});
  accounts[1] = account_of(Posted{.digest = 5, .text = "barrier"});
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

TEST(Judge, ALeaverTakesNoMessageOverAConnectionThatIsBroken) {
  Trouble cut_off = trouble(Kind::Broken, 1, "send of 8 bytes to rank 1; the connection broke");
  cut_off.name = "a message with tag 2 between ranks 0 and 1";
  std::vector<Account> accounts(2);
  accounts[1] = account_of_leaver(cut_off, {}, 0ms);
  EXPECT_EQ(judge(cut_off, 0, accounts)->to_string(),
            "peer failed: rank 1 left the job before a message with tag 2 between ranks 0 and 1");
}

TEST(Judge, WhyARankDecidesAloneIsToldWhereSomebodyIsLate) {
  const std::string why = "rank 0 has left, so that nobody knows who is late";
  EXPECT_EQ(judge_alone(trouble(Kind::Expired, 3, "barrier"), {}, why).to_string(),
            "timed out: call 3 ran out of time: barrier; " + why);
  EXPECT_EQ(judge_alone(trouble(Kind::Mismatch, 3, "scatterv"), {}, why).to_string(),
            "mismatch: call 3 differs: scatterv");
  EXPECT_EQ(judge_alone(trouble(Kind::Broken, 3, "barrier"), {}, why).to_string(),
            "transport error: call 3 failed: barrier");
}

}  // namespace
}  // namespace lacuna::runtime
