#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/support/calls.hpp"

namespace lacuna::test {
namespace {

using namespace std::chrono_literals;
using Floats = std::vector<float>;

constexpr std::size_t long_count = 1 << 20;  // elements: a step on so much data counts as long

std::atomic<bool> started{false}, may_end{false};

/// A kernel that runs until the test lets it end, or for ten seconds.
struct Linger {
  static constexpr std::string_view name = "linger";
  Read from;
  Write to;

  Status operator()(const KernelCall&) const {
    started = true;
    for (int i = 0; i < 1000 && !may_end; ++i) std::this_thread::sleep_for(10ms);
    to->data[0] = std::byte{1};
    return may_end ? Status() : Status(Code::TimedOut, "nobody let it end");
  }
};

const Algorithm lingering = {
    .collective = Collective::Allreduce,
    .name = "lingering",
    .summary = "a test's",
    .symmetric = true,
    .build = [](GraphBuilder& g) { g.kernel(Linger{.from = g.input(), .to = g.output()}); },
};

/// Two ranks. The first one has a long call under way, for which a thread of lacuna or of the test makes progress.
struct Lingering {
  explicit Lingering(bool progress_thread) : ranks(2, options(progress_thread)), input(long_count), output(long_count) {
    started = may_end = false;
    call.collective = Collective::Allreduce;
    call.input = input.data();
    call.output = output.data();
    call.count = long_count;
    run = *ranks.communicator(0).post(call, lingering);
    if (!progress_thread) waiter = std::thread([this] { end = ranks.communicator(0).wait(*run, 20s); });
    for (int i = 0; i < 1000 && !started; ++i) std::this_thread::sleep_for(1ms);
  }
  ~Lingering() {
    may_end = true;
    if (waiter.joinable()) waiter.join();
  }
  static RanksOptions options(bool progress_thread) {
    RanksOptions options{.executor = quick_executor()};
    options.executor.progress_thread = progress_thread;
    options.executor.chunk_bytes = std::size_t{1} << 30;  // so the call has one part
    return options;
  }
  Status ended() {
    may_end = true;
    if (!waiter.joinable()) return ranks.communicator(0).wait(*run, 20s);
    waiter.join();
    return end;
  }

  Ranks ranks;
  Floats input, output;
  Call call;
  runtime::Run* run = nullptr;
  Status end;
  std::thread waiter;
};

class LongCompute : public testing::TestWithParam<bool> {};

TEST_P(LongCompute, OtherThreadsPostAndOtherCallsEndMeanwhile) {
  Lingering job(GetParam());
  ASSERT_TRUE(started);
  runtime::Communicator other(job.ranks.executor(0), 77), there(job.ranks.executor(1), 77);
  const Floats input(8, 1);
  Floats outputs[2] = {Floats(8), Floats(8)};
  const auto begin = std::chrono::steady_clock::now();
  runtime::Run& here = must_post(other, allreduce_call(input, outputs[0]));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s) << "the post waited for the kernel";
  if (!GetParam()) {
    std::thread one([&] {
      const Status well = there.wait(must_post(there, allreduce_call(input, outputs[1])), 9s);
      EXPECT_TRUE(well) << well.to_string();
    });
    const Status well = other.wait(here, 9s);
    EXPECT_TRUE(well) << well.to_string();
    one.join();
    EXPECT_EQ(outputs[0], Floats(8, 2));
  }
  EXPECT_FALSE(may_end);
  EXPECT_TRUE(job.ended());
  other.release(here);
}

TEST_P(LongCompute, AFailureLeavesTheBuffersInUseUntilTheStepHasEnded) {
  Lingering job(GetParam());
  ASSERT_TRUE(started);
  job.ranks.communicator(0).fail({Code::PeerFailed, "the test has failed it"});
  EXPECT_FALSE(job.ranks.communicator(0).reclaimed(*job.run));
  const Status end = job.ended();
  EXPECT_EQ(end.code(), Code::PeerFailed);
  for (int i = 0; i < 1000 && !job.ranks.communicator(0).reclaimed(*job.run); ++i) {
    job.ranks.executor(0).progress();
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_TRUE(job.ranks.communicator(0).reclaimed(*job.run));
}

TEST_P(LongCompute, AfterTheJobHasFailedAStepStillEndsAndItsBuffersAreTheCallersAgain) {
  Lingering job(GetParam());
  ASSERT_TRUE(started);
  static_cast<runtime::Watched&>(job.ranks.executor(0)).fail({Code::PeerFailed, "the test has failed the job"});
  EXPECT_FALSE(job.ranks.communicator(0).reclaimed(*job.run));
  const Status end = job.ended();
  EXPECT_EQ(end.message(), "the test has failed the job");
  EXPECT_TRUE(job.ranks.communicator(0).reclaimed(*job.run));
}

TEST(LongComputeBesideAThread, AStepThatAPostHasBegunEndsThoughTheJobFailsBeforeTheThreadHasSeenIt) {
  Ranks ranks(2, Lingering::options(true));
  started = may_end = false;
  std::this_thread::sleep_for(50ms);  // now the thread sleeps
  const Floats input(long_count);
  Floats output(long_count);
  Call call{.collective = Collective::Allreduce, .input = input.data(), .output = output.data(), .count = long_count};
  runtime::Run* run = *ranks.communicator(0).post(call, lingering);
  static_cast<runtime::Watched&>(ranks.executor(0)).fail({Code::PeerFailed, "the test has failed the job"});
  may_end = true;
  EXPECT_EQ(ranks.communicator(0).wait(*run, 20s).message(), "the test has failed the job");
  for (int i = 0; i < 5000 && !ranks.communicator(0).reclaimed(*run); ++i) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(ranks.communicator(0).reclaimed(*run));
}

INSTANTIATE_TEST_SUITE_P(, LongCompute, testing::Bool(),
                         [](const auto& one) { return one.param ? "ProgressThread" : "WaitingCaller"; });

}  // namespace
}  // namespace lacuna::test
