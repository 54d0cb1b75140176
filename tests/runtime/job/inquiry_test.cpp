#include "runtime/job/inquiry.hpp"

#include <gtest/gtest.h>

namespace lacuna::runtime {
namespace {

using namespace std::chrono_literals;

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

}  // namespace
}  // namespace lacuna::runtime
