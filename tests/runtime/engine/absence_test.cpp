#include <gtest/gtest.h>

#include "tests/support/hand_clock.hpp"
#include "tests/support/lone_rank.hpp"

namespace lacuna::test {
namespace {

using namespace std::chrono_literals;
using Floats = std::vector<float>;

/// A rank whose clock moves by a millisecond at each look. Nobody sends to it, so that its waits take as long as they
/// may.
class OverlappableTime : public testing::Test {
 protected:
  static runtime::ExecutorOptions timed_by(const HandClock& clock) {
    runtime::ExecutorOptions options = quick_executor();
    options.time = runtime::TimeSource(clock);
    options.deadline = std::chrono::hours(10'000);
    options.stall = std::chrono::hours(10'000);
    return options;
  }

  runtime::Run& post() { return must_post(rank_.communicator, broadcast_call(data_, 1)); }
  void compute(std::chrono::seconds time) { clock_.move(time); }
  void wait(runtime::Run& run, std::chrono::seconds time) {
    EXPECT_EQ(rank_.communicator.wait(run, time).code(), Code::TimedOut);
  }
  double seconds() const { return rank_.executor.job_counters().overlappable_seconds; }

  HandClock clock_{100ms};
  Floats data_ = Floats(10);
  LoneRank rank_{2, timed_by(clock_)};
  static constexpr double looks = 10;  // what looks at the clock may take, in seconds
};

TEST_F(OverlappableTime, IsThatOfTheComputationBeforeTheWait) {
  runtime::Run& run = post();
  compute(100s);
  wait(run, 500s);
  EXPECT_NEAR(seconds(), 100, looks);
}

TEST_F(OverlappableTime, IsNoMoreThanTheWait) {
  runtime::Run& run = post();
  compute(500s);
  wait(run, 100s);
  EXPECT_NEAR(seconds(), 100, looks);
}

TEST_F(OverlappableTime, IsNothingWhereTheWaitFollowsAtOnce) {
  compute(500s);
  wait(post(), 100s);
  EXPECT_NEAR(seconds(), 0, looks);
}

TEST_F(OverlappableTime, AddsUpOverTheStartsBeforeTheWait) {
  post();
  compute(100s);
  runtime::Run& last = post();
  compute(50s);
  wait(last, 500s);
  EXPECT_NEAR(seconds(), 150, looks);
}

TEST_F(OverlappableTime, IsSavedOnce) {
  runtime::Run& first = post();
  runtime::Run& second = post();
  compute(100s);
  wait(first, 60s);
  wait(second, 500s);
  EXPECT_NEAR(seconds(), 100, looks);
}

TEST_F(OverlappableTime, IsNothingForACallerThatMakesProgressItself) {
  runtime::Run& run = post();
  compute(100s);
  rank_.progress();
  wait(run, 500s);
  EXPECT_NEAR(seconds(), 0, looks);
}

TEST_F(OverlappableTime, IsNothingWhileNothingIsInFlight) {
  post();
  rank_.arrive(rank_.header_of(0, 40), data_, 0, 40);
  compute(100s);
  wait(post(), 500s);
  EXPECT_NEAR(seconds(), 0, looks);
}

}  // namespace
}  // namespace lacuna::test
