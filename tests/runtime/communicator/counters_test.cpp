#include <gtest/gtest.h>

#include "tests/support/calls.hpp"
#include "tests/support/skip_call.hpp"

namespace lacuna::test {
namespace {

/// An allreduce of eight elements that leaves out a round.
Call skipping(const std::vector<float>& input, std::vector<float>& output) {
  Call call = allreduce_call(input, output);
  call.options.method = skip({.steps = 1});
  return call;
}

const CallCounters& allreduces(const JobCounters& all) {
  return all.communicators[0].calls[static_cast<std::size_t>(Collective::Allreduce)];
}

TEST(CallCounters, CallsThatFailAreCountedAsFailedAndNotByTheirMethod) {
  Ranks ranks(2);
  const std::vector<float> input(8, 1), longer(9, 1);
  std::vector<float> output(8), longer_output(9);
  for (const Status& status : ranks.run({skipping(input, output), skipping(input, output)})) {
    ASSERT_TRUE(status) << status.to_string();
  }
  for (const Status& status : ranks.run({skipping(input, output), skipping(longer, longer_output)})) {
    ASSERT_FALSE(status);
  }
  for (Rank rank : {0, 1}) {
    const JobCounters all = ranks.executor(rank).job_counters();
    EXPECT_EQ(allreduces(all).started, 2u);
    EXPECT_EQ(allreduces(all).completed, 1u);
    EXPECT_EQ(allreduces(all).failed, 1u);
    ASSERT_EQ(all.methods().size(), 1u);
    EXPECT_EQ(all.methods()[0].calls, 1u);
  }
}

}  // namespace
}  // namespace lacuna::test
