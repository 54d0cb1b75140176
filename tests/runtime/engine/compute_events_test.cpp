#include <gtest/gtest.h>
#include <poll.h>

#include <thread>

#include "tests/support/calls.hpp"
#include "tests/support/held_compute.hpp"

// A computation that ends by itself, as on a device, wakes whoever sleeps until then.
namespace lacuna::test {
namespace {

using namespace std::chrono_literals;
using Floats = std::vector<float>;

/// A call on one rank, which is a copy that is held.
struct HeldCopy {
  HeldCopy() : ranks(1, options()), compute(last_held_compute()), run(must_post(ranks, 0, call())) {}

  static RanksOptions options() {
    RanksOptions options{.network = {}, .executor = quick_executor()};
    options.executor.compute = held_compute;
    options.executor.stall = options.executor.deadline = 1h;
    return options;
  }
  Call call() { return allreduce_call(input, output); }

  const Floats input = Floats(10, 1);
  Floats output = Floats(10);
  Ranks ranks;
  HeldCompute& compute;
  runtime::Run& run;
};

TEST(ComputeEvents, ALoopThatSleepsOnTheDescriptorWakesWhenAComputationHasEnded) {
  HeldCopy held;
  runtime::Executor& executor = held.ranks.executor(0);
  while (executor.progress() || !executor.arm()) {
  }
  pollfd readable = {executor.event_fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&readable, 1, 50), 0) << "nothing has ended";
  std::thread device([&] { held.compute.let_go(); });
  EXPECT_EQ(::poll(&readable, 1, 60'000), 1);
  device.join();
  executor.progress();
  EXPECT_TRUE(held.run.finished && held.run.status);
  EXPECT_EQ(held.output, held.input);
}

TEST(ComputeEvents, ALoopDoesNotSleepWhileAComputationHasEnded) {
  HeldCopy held;
  runtime::Executor& executor = held.ranks.executor(0);
  while (executor.progress() || !executor.arm()) {
  }
  held.compute.let_go();
  EXPECT_FALSE(executor.arm());
}

TEST(ComputeEvents, AWaitEndsWithTheComputation) {
  HeldCopy held;
  std::thread device([&] {
    std::this_thread::sleep_for(20ms);
    held.compute.let_go();
  });
  EXPECT_TRUE(held.ranks.communicator(0).wait(held.run, 60s));
  device.join();
  EXPECT_EQ(held.output, held.input);
}

}  // namespace
}  // namespace lacuna::test
