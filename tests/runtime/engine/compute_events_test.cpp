#include <gtest/gtest.h>
#include <poll.h>

#include <memory>
#include <thread>
#include <utility>

#include "tests/support/calls.hpp"
#include "tests/support/held_compute.hpp"

// What the end of a computation means to those who wait: also if it ends by itself, as on a device.
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

/// Computations that take some time on the thread that makes progress.
class SlowCompute final : public runtime::Compute {
 public:
  static constexpr std::chrono::milliseconds time{30};

  bool takes(std::size_t) const override { return true; }
  Started start(runtime::Work& work) override {
    waiting_ = &work;
    return Started::Pending;
  }
  runtime::Work* ended() override { return std::exchange(ended_, nullptr); }
  bool wants_turn() const override { return waiting_ != nullptr; }
  bool advance() override {
    if (!waiting_) return false;
    std::this_thread::sleep_for(time);
    carry_out(*waiting_);
    ended_ = std::exchange(waiting_, nullptr);
    return true;
  }

 private:
  runtime::Work *waiting_ = nullptr, *ended_ = nullptr;
};

TEST(ComputeEvents, AWaitThatIsOverFindsTheComputationThatItHasCarriedOut) {
  RanksOptions options = HeldCopy::options();
  options.executor.compute = []() -> std::unique_ptr<runtime::Compute> { return std::make_unique<SlowCompute>(); };
  Ranks ranks(1, options);
  const Floats input(10, 1);
  Floats output(10);
  runtime::Run& run = must_post(ranks, 0, allreduce_call(input, output));
  EXPECT_TRUE(ranks.communicator(0).wait(run, SlowCompute::time / 2));
  EXPECT_EQ(output, input);
}

/// A kernel that refuses what its caller has brought.
struct Refuse {
  static constexpr std::string_view name = "refuse";
  Read from;
  Write to;

  Status operator()(const KernelCall&) const { return {Code::InvalidArgument, "a test's"}; }
};

/// The kernel, and beside it a copy.
const Algorithm refusing = {
    .collective = Collective::Allreduce,
    .name = "refusing",
    .summary = "a test's",
    .symmetric = true,
    .build =
        [](GraphBuilder& g) {
          g.kernel(Refuse{.from = g.input(), .to = g.buffer({})});
          g.copy(g.output(), g.input());
        },
};

TEST(ComputeEvents, APreparedCallThatHasEndedIsNotStartedWhileAComputationUsesItsBuffers) {
  Ranks ranks(1, HeldCopy::options());
  HeldCompute& compute = last_held_compute();
  runtime::Communicator& communicator = ranks.communicator(0);
  const Floats input(10, 1);
  Floats output(10);
  runtime::Run& run = **communicator.prepare(allreduce_call(input, output), refusing);
  ASSERT_TRUE(communicator.start(run));
  ASSERT_EQ(compute.held(), 2u);
  compute.let_go(1);
  while (ranks.sweep()) {
  }
  EXPECT_TRUE(run.finished);
  EXPECT_EQ(run.status.code(), Code::InvalidArgument);
  EXPECT_EQ(communicator.start(run).code(), Code::Busy);
  compute.let_go();
  while (ranks.sweep()) {
  }
  EXPECT_TRUE(communicator.start(run));
  compute.let_go();
  while (ranks.sweep()) {
  }
}

}  // namespace
}  // namespace lacuna::test
