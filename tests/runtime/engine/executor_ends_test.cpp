#include <gtest/gtest.h>

#include <atomic>

#include "tests/support/calls.hpp"
#include "tests/support/forwarding_transport.hpp"
#include "tests/support/hand_clock.hpp"

namespace lacuna::test {
namespace {

using namespace std::chrono_literals;
using Floats = std::vector<float>;

const Status verdict(Code::PeerFailed, "planted");

/// A transport that says who can reach its memory after its end.
class Reached final : public ForwardingTransport {
 public:
  Reached(std::unique_ptr<Transport> inner, Access access) : ForwardingTransport(std::move(inner)), access_(access) {}

  Status close(std::chrono::milliseconds deadline, const std::function<bool()>& pause, Ending ending) override {
    closed = ending;
    longest = deadline;
    return inner_->close(deadline, pause, ending);
  }
  Access abandon() override {
    static_cast<void>(inner_->abandon());
    return access_;
  }

  static inline std::optional<Ending> closed;  ///< how the last of them was closed
  static inline std::chrono::milliseconds longest;

 private:
  Access access_;
};

/// A rank whose send waits for its peer, which never asks for the bytes.
class ExecutorEnds : public testing::Test {
 protected:
  runtime::Run& start(Access access, bool progress_thread = false, const runtime::TimeSource& time = {}) {
    auto transports = make_inproc(2, {});
    runtime::ExecutorOptions options = quick_executor();
    options.eager_bytes = 0;
    options.progress_thread = progress_thread;
    options.time = time;
    auto transport = std::make_unique<Reached>(std::move(transports[0]), access);
    const std::vector<std::vector<std::byte>> addresses(2);
    executor = std::make_unique<runtime::Executor>(std::move(transport), 0, 2, options);
    communicator = std::make_unique<runtime::Communicator>(*executor, 7);
    EXPECT_TRUE(executor->connect(addresses));
    auto run = communicator->post(
        Send{.data = data.data(), .count = data.size(), .dtype = Dtype::F32, .to = 1, .options = {.keep_alive = kept}});
    EXPECT_TRUE(run) << run.status().to_string();
    kept.reset();
    peer = std::move(transports[1]);
    return **run;
  }
  std::string waited(runtime::Run& run) { return communicator->wait(run).to_string(); }

  const std::string in_use =
      "peer failed: planted; its buffers are still in use: they must live until they are reclaimed, or to the end of "
      "the "
      "process";
  Floats data = Floats(100);
  std::shared_ptr<int> kept = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = kept;
  const HandClock clock{10ms};
  std::unique_ptr<Transport> peer;
  std::unique_ptr<runtime::Executor> executor;
  std::unique_ptr<runtime::Communicator> communicator;
};

TEST_F(ExecutorEnds, WhatPeersCanTouchIsReclaimedWhenAllHaveStopped) {
  runtime::Run& run = start(Access::Peers);
  executor->fail(verdict);
  EXPECT_TRUE(run.finished);
  EXPECT_FALSE(communicator->reclaimed(run));
  executor->release(true);
  EXPECT_TRUE(communicator->reclaimed(run));
  EXPECT_EQ(waited(run), verdict.to_string());
}

TEST_F(ExecutorEnds, WhatPeersCanTouchStaysInUseIfSomeHaveNotStopped) {
  runtime::Run& run = start(Access::Peers);
  executor->fail(verdict);
  executor->release(false);
  EXPECT_FALSE(communicator->reclaimed(run));
  EXPECT_EQ(waited(run), in_use);
}

TEST_F(ExecutorEnds, WhatDevicesCanTouchStaysInUseToTheEndOfTheProcess) {
  runtime::Run& run = start(Access::Devices);
  executor->fail(verdict);
  EXPECT_EQ(waited(run), in_use);  // and it waits for nothing
  executor->release(true);
  EXPECT_FALSE(communicator->reclaimed(run));
  communicator.reset();
  executor.reset();
  EXPECT_FALSE(watched.expired());
}

TEST_F(ExecutorEnds, WhatDevicesCanTouchAfterACommunicatorFailedOutlivesTheExecutor) {
  start(Access::Devices);
  communicator->fail(verdict);
  communicator.reset();
  EXPECT_TRUE(executor->close(0ms));
  executor.reset();
  EXPECT_FALSE(watched.expired());
}

TEST_F(ExecutorEnds, ABlockingCallThatFailedReturnsOnceItsBuffersAreReclaimed) {
  for (const bool progress_thread : {false, true}) {
    runtime::Run& run = start(Access::Peers, progress_thread);
    std::atomic<bool> returned = false;
    std::string ended;
    std::thread caller([&] {
      ended = communicator->finish(run).to_string();
      returned = true;
    });
    std::this_thread::sleep_for(50ms);
    executor->fail(verdict);
    std::this_thread::sleep_for(100ms);
    EXPECT_FALSE(returned);
    executor->release(true);
    caller.join();
    EXPECT_EQ(ended, verdict.to_string());
    communicator.reset();
    executor.reset();
  }
}

TEST_F(ExecutorEnds, ABlockingCallWaitsForItsBuffersNoLongerThanAWhile) {
  runtime::Run& run = start(Access::Nobody, false, runtime::TimeSource(clock));
  communicator->fail(verdict);  // the peer does not hear of it, and does not take the message
  const auto begin = clock.now();
  EXPECT_EQ(waited(run), in_use);
  EXPECT_GE(clock.now() - begin, runtime::reclaim_grace);
  EXPECT_EQ(communicator->wait(run, 1ms).to_string(), in_use);
}

TEST(ExecutorPoison, LeavesTheTransportAsItIsThoughNoCallHasFailedHere) {
  for (const bool poisoned : {false, true}) {
    auto transport = std::make_unique<Reached>(std::move(make_inproc(1, {})[0]), Access::Nobody);
    runtime::Executor executor(std::move(transport), 0, 1, quick_executor());
    EXPECT_TRUE(executor.connect({{}}));
    runtime::Communicator communicator(executor, 7);
    if (poisoned) static_cast<runtime::Watched&>(executor).poison(7, verdict);
    EXPECT_TRUE(executor.close(1s));
    EXPECT_EQ(Reached::closed, poisoned ? Ending::Leave : Ending::TakeDown);
  }
}

// A peer behind a cut network does not answer a goodbye.
TEST(ExecutorPoison, AfterAPeerDidNotAnswerItClosesWithinASecond) {
  for (const Code code : {Code::PeerFailed, Code::TimedOut, Code::Transport, Code::Mismatch}) {
    auto transport = std::make_unique<Reached>(std::move(make_inproc(1, {})[0]), Access::Nobody);
    runtime::Executor executor(std::move(transport), 0, 1, quick_executor());
    EXPECT_TRUE(executor.connect({{}}));
    runtime::Communicator communicator(executor, 7);
    static_cast<runtime::Watched&>(executor).poison(7, {code, "planted"});
    EXPECT_TRUE(executor.close(5s));
    EXPECT_EQ(Reached::longest, code == Code::Mismatch ? 5s : runtime::close_grace) << to_string(code);
  }
  EXPECT_LT(runtime::close_grace, 1s);
}

TEST(ExecutorPoison, WhoWaitsForItsBuffersIsWokenWhenThePeerHasTakenThem) {
  RanksOptions options{.network = {}, .executor = quick_executor()};
  options.executor.progress_thread = true;
  options.executor.eager_bytes = 0;
  Ranks ranks(2, options);
  Floats sent(100, 3), received(100);
  runtime::Communicator& sender = ranks.communicator(0);
  auto run = sender.post(Send{.data = sent.data(), .count = 100, .dtype = Dtype::F32, .to = 1});
  ASSERT_TRUE(run);
  std::this_thread::sleep_for(50ms);  // by now the receiver has been asked
  sender.fail(verdict);
  std::thread receiver([&] {
    std::this_thread::sleep_for(100ms);
    auto taken = ranks.communicator(1).post(Receive{.data = received.data(), .count = 100, .from = 0});
    EXPECT_TRUE(taken && ranks.communicator(1).finish(**taken));
  });
  const auto begin = runtime::Clock::now();
  EXPECT_EQ(sender.finish(**run).to_string(), verdict.to_string());
  EXPECT_LT(runtime::Clock::now() - begin, runtime::reclaim_grace - 1s);
  receiver.join();
  EXPECT_EQ(received, sent);
}

TEST(ExecutorPoison, EndsOneCommunicatorAndNothingElse) {
  Ranks ranks(2);
  runtime::Communicator others[] = {{ranks.executor(0), 99}, {ranks.executor(1), 99}};
  Floats data(10), more[] = {Floats(10, 7), Floats(10)};
  const runtime::Run& run = must_post(ranks, 0, broadcast_call(data, 1));
  ranks.executor(0).poison(ranks.communicator(0).id(), verdict);
  ranks.executor(0).poison(12345, verdict);  // there is no such communicator
  EXPECT_EQ(run.status.to_string(), verdict.to_string());
  EXPECT_TRUE(others[0].status());
  std::vector<runtime::Run*> runs;
  for (Rank rank : {0, 1}) runs.push_back(&must_post(others[rank], broadcast_call(more[rank], 0)));
  EXPECT_TRUE(ranks.sweep_until([&] { return runs[0]->finished && runs[1]->finished; }));
  EXPECT_EQ(more[1], Floats(10, 7));
}

TEST(ExecutorRecords, ACallIsToldAfterTheEndOfItsCommunicator) {
  Ranks ranks(2);
  auto gone = std::make_unique<runtime::Communicator>(ranks.executor(0), 99);
  Floats data(10);
  const runtime::Run& run = must_post(*gone, broadcast_call(data, 0));
  const auto before = ranks.executor(0).posted(99, 0);
  ASSERT_TRUE(before);
  ranks.sweep_until([&] { return run.finished; });
  gone.reset();
  const auto after = ranks.executor(0).posted(99, 0);
  ASSERT_TRUE(after);
  EXPECT_EQ(after->digest, before->digest);
  EXPECT_EQ(after->text, "broadcast tree f32 count 10 root 0");
  EXPECT_FALSE(ranks.executor(0).posted(99, 1));
  for (std::uint64_t id = 100; id < 200; ++id) runtime::Communicator(ranks.executor(0), id);
  ASSERT_TRUE(ranks.executor(0).posted(99, 0));  // it is known that the call was posted, but not what it was
  EXPECT_EQ(ranks.executor(0).posted(99, 0)->digest, 0u);
}

}  // namespace
}  // namespace lacuna::test
