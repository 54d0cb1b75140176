#include "runtime/observe/clock_comparison.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/runtime/job/watch_job.hpp"

namespace lacuna::runtime {
namespace {

using namespace std::chrono_literals;
using Nanoseconds = ClockRelation::Nanoseconds;

double since_epoch(Clock::time_point time) { return Nanoseconds(time.time_since_epoch()).count(); }

/// A clock that runs `drift` faster than the clock of this rank, and showed `ahead` more when that showed 0.
struct OtherClock {
  double ahead = 0;
  double drift = 0;

  double at(Clock::time_point ours) const { return since_epoch(ours) * (1 + drift) + ahead; }
  Clock::time_point read(Clock::time_point ours) const {
    return Clock::time_point(Clock::duration(std::llround(at(ours))));
  }
};

/// A question and its answer over a network with these delays. The question is asked at `time`.
void exchange(ClockComparison& comparison, const OtherClock& other, Clock::time_point time,
              std::pair<Clock::duration, Clock::duration> delays) {
  comparison.add(time, other.read(time + delays.first), time + delays.first + delays.second);
}

TEST(ClockComparison, BeforeTheFirstAnswerNothingIsKnown) { EXPECT_FALSE(ClockComparison().relation()); }

TEST(ClockComparison, TheOffsetIsRightWithinItsErrorForAllDelays) {
  const OtherClock other{.ahead = -3.5e15};
  std::uint64_t state = 1;
  for (int seed = 0; seed < 200; ++seed) {
    ClockComparison comparison;
    Clock::time_point time(1h);
    for (int i = 0; i < 16; ++i) {
      const auto delay = [&] { return Clock::duration(5'000 + (state = state * 6364136223846793005u + 1) % 900'000); };
      exchange(comparison, other, time, {delay(), delay()});
      time += 1ms;
    }
    const ClockRelation relation = *comparison.relation();
    EXPECT_LE(std::abs(relation.theirs(since_epoch(time)) - other.at(time)), relation.error.count() + 1);
    EXPECT_LT(relation.error, 905us);
  }
}

TEST(ClockComparison, TheQuickestAnswerDecides) {
  const OtherClock other{.ahead = 7e12};
  ClockComparison comparison;
  exchange(comparison, other, Clock::time_point(10s), {40us, 900us});
  exchange(comparison, other, Clock::time_point(10s + 1ms), {10us, 10us});
  exchange(comparison, other, Clock::time_point(10s + 2ms), {500us, 30us});
  EXPECT_EQ(comparison.relation()->error, 10us);
  EXPECT_NEAR(comparison.relation()->theirs(1e10), other.at(Clock::time_point(10s)), 1);
}

TEST(ClockComparison, ADriftIsFollowed) {
  const OtherClock other{.ahead = 1e15, .drift = 2e-5};
  ClockComparison comparison;
  Clock::time_point time(100s);
  for (int beat = 0; beat < 400; ++beat) {
    exchange(comparison, other, time, {20us, 30us});
    time += beat < 16 ? 1ms : 2500ms;
  }
  for (const auto at : {100s, 600s, 1000s}) {
    EXPECT_NEAR(comparison.relation()->theirs(since_epoch(Clock::time_point(at))), other.at(Clock::time_point(at)),
                100e3)
        << "without the drift it would be off by 18 ms";
  }
}

TEST(ClockComparison, ALateAnswerThatWasLongOnItsWayBendsNothing) {
  const OtherClock other{.ahead = 1e15, .drift = 1e-5};
  ClockComparison comparison;
  exchange(comparison, other, Clock::time_point(100s), {40us, 40us});
  exchange(comparison, other, Clock::time_point(102500ms), {20ms, 100us});
  const ClockRelation relation = *comparison.relation();
  const double off = relation.theirs(102.5e9) - other.at(Clock::time_point(102500ms));
  EXPECT_LE(std::abs(off), relation.error.count());
  EXPECT_LT(relation.error, 200us);
}

TEST(ClockComparison, ClocksThatMayBeOneAreTakenForOne) {
  const OtherClock same;
  ClockComparison comparison;
  exchange(comparison, same, Clock::time_point(10s), {20us, 30us});
  exchange(comparison, same, Clock::time_point(15s), {40us, 30us});
  EXPECT_EQ(comparison.relation()->theirs(12345.0), 12345.0);
  exchange(comparison, {.ahead = 1e6}, Clock::time_point(16s), {20us, 20us});
  EXPECT_NE(comparison.relation()->theirs(12345.0), 12345.0);
}

TEST(ClockComparison, WatchesCompareTheirClocks) {
  Local job(3);
  EXPECT_FALSE(job.watches[1]->clock()) << "not asked for";
  for (const auto& watch : job.watches) watch->compare_clocks(5s);
  EXPECT_FALSE(job.watches[0]->clock()) << "rank 0's clock is the measure";
  for (std::size_t rank : {1u, 2u}) {
    const auto relation = job.watches[rank]->clock();
    ASSERT_TRUE(relation);
    EXPECT_EQ(relation->theirs(5e9), 5e9) << "threads of one process share a clock";
    EXPECT_GT(relation->error.count(), 0);
  }
}

}  // namespace
}  // namespace lacuna::runtime
