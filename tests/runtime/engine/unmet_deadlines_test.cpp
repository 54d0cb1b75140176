#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "tests/support/calls.hpp"
#include "tests/support/hand_clock.hpp"
#include "tests/support/lone_rank.hpp"

namespace lacuna::test {
namespace {

using namespace std::chrono_literals;
using Floats = std::vector<float>;

bool says(const Status& status, const char* text) { return status.message().find(text) != std::string::npos; }

runtime::ExecutorOptions timed_by(const HandClock& clock) {
  runtime::ExecutorOptions options = quick_executor();
  options.time = runtime::TimeSource(clock);
  return options;
}

TEST(UnmetDeadlines, ASendThatIsNeverTakenEndsAtItsOwn) {
  HandClock clock;
  RanksOptions options{.network = {}, .executor = timed_by(clock)};
  options.executor.eager_bytes = 0;
  Ranks ranks(2, options);
  const Floats data(100);
  const auto posted = ranks.communicator(0).post(
      Send{.data = data.data(), .count = 100, .to = 1, .tag = 3, .options = {.deadline = 100ms}});
  ASSERT_TRUE(posted);
  ranks.sweep_until([] { return false; });
  EXPECT_FALSE((*posted)->finished);
  clock.move(100ms);
  ranks.sweep();
  ASSERT_TRUE((*posted)->finished);
  EXPECT_EQ((*posted)->status.code(), Code::TimedOut);
  EXPECT_TRUE(says((*posted)->status, "send of 400 bytes to rank 1 with tag 3: rank 1 has not taken it"))
      << (*posted)->status.to_string();
}

/// A peer that only sends.
class Mute : public Receiver {
  void on_message(Peer, std::span<const std::byte>, std::span<const std::byte>) override {}
  void on_descriptor(Peer, std::span<const std::byte>, Descriptor) override {}
  void on_complete(Token, const Status&) override {}
  void on_peer_failure(Peer, const Status&) override {}
};

TEST(UnmetDeadlines, AReceiveOfHalfAMessageEndsAtItsOwn) {
  Mute mute;
  HandClock clock;
  auto transports = make_inproc(2, {});
  const std::vector<std::vector<std::byte>> addresses(2);
  runtime::Executor executor(std::move(transports[1]), 1, 2, timed_by(clock));
  runtime::Communicator communicator(executor, 7);
  ASSERT_TRUE(executor.connect(addresses) && transports[0]->connect(addresses, mute));
  Floats data(64);
  const auto posted =
      communicator.post(Receive{.data = data.data(), .count = 64, .from = 0, .tag = 3, .options = {.deadline = 100ms}});
  ASSERT_TRUE(posted);
  const runtime::MessageHeader header{
      .communicator = 7, .bytes = 256, .run = 3, .kind = runtime::MessageKind::Message, .dtype = Dtype::F32};
  const std::array<std::byte, 128> half{};
  static_cast<void>(transports[0]->send(1, std::as_bytes(std::span(&header, 1)), half, Delivery::Eager, nullptr));
  while (executor.progress()) continue;
  EXPECT_FALSE((*posted)->finished);
  clock.move(100ms);
  executor.progress();
  ASSERT_TRUE((*posted)->finished);
  EXPECT_EQ((*posted)->status.code(), Code::TimedOut);
  EXPECT_TRUE(says((*posted)->status, "misses 128 of 256 bytes")) << (*posted)->status.to_string();
  EXPECT_EQ(communicator.status().code(), Code::TimedOut);
  static_cast<void>(executor.close(0ms));
}

TEST(UnmetDeadlines, OneLookEndsAllMessagesThatAreLateAndNoOthersWhicheverTheyAre) {
  constexpr unsigned messages = 5;
  for (unsigned late = 0; late < 1u << messages; ++late) {  // bit i is for message i
    HandClock clock;
    LoneRank rank(2, timed_by(clock));
    Floats data(10);
    std::vector<const runtime::Run*> runs;
    for (unsigned i = 0; i < messages; ++i) {
      const auto deadline = late >> i & 1u ? 100ms : 200ms;
      const auto posted = rank.communicator.post(Receive{
          .data = data.data(), .count = 10, .from = 1, .tag = static_cast<int>(i), .options = {.deadline = deadline}});
      ASSERT_TRUE(posted);
      runs.push_back(*posted);
    }
    clock.move(100ms);
    rank.progress();
    for (unsigned i = 0; i < messages; ++i) EXPECT_EQ(runs[i]->finished, late >> i & 1u) << late << " message " << i;
    clock.move(100ms);
    rank.progress();
    for (const runtime::Run* run : runs) EXPECT_EQ(run->status.code(), Code::TimedOut) << late;
  }
}

TEST(UnmetDeadlines, PostsThatMoveNothingDoNotHideAStall) {
  HandClock clock;
  runtime::ExecutorOptions options = timed_by(clock);
  options.stall = 100ms;
  LoneRank rank(2, options);
  std::vector<float> data(10);
  for (int tag = 0; tag < 30; ++tag) {
    ASSERT_TRUE(rank.communicator.post(Receive{.data = data.data(), .count = 10, .from = 1, .tag = tag}));
    clock.move(20ms);
    rank.progress();
  }
  EXPECT_GE(rank.executor.job_counters().stalls, 2u);
}

TEST(UnmetDeadlines, ACallWhoseVerdictNeverComesEndsAfterAWhile) {
  HandClock clock;
  LoneRank rank(2, timed_by(clock));
  rank.executor.set_reporter([](const runtime::Trouble&) {});
  std::vector<float> data(10);
  Call call = broadcast_call(data, 1);
  call.options.deadline = 100ms;
  const runtime::Run& run = must_post(rank.communicator, call);
  for (const runtime::Clock::duration step : {100ms - 1ns, 1ns, runtime::verdict_grace - 1ns}) {
    clock.move(step);
    rank.progress();
    EXPECT_FALSE(run.finished);
  }
  clock.move(10ms);  // duties are so long apart
  rank.progress();
  EXPECT_EQ(run.status.code(), Code::TimedOut) << run.status.to_string();
}

TEST(UnmetDeadlines, FailingACommunicatorEndsTheRunsOfAllSlots) {
  Ranks ranks(2);
  std::vector<Floats> data(ranks.executor(0).options().max_runs, Floats(10));
  std::vector<runtime::Run*> runs;
  for (Floats& one : data) runs.push_back(&must_post(ranks, 0, broadcast_call(one, 1)));
  EXPECT_EQ(ranks.post(0, broadcast_call(data[0], 1)).status().code(), Code::Busy);
  ranks.communicator(0).fail({Code::PeerFailed, "planted"});
  for (const runtime::Run* run : runs) {
    EXPECT_TRUE(run->finished);
    EXPECT_TRUE(says(run->status, "planted"));
  }
}

}  // namespace
}  // namespace lacuna::test
