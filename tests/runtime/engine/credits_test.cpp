#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/support/calls.hpp"
#include "tests/support/lone_rank.hpp"
#include "tests/support/meddler.hpp"
#include "tests/support/ranks.hpp"

namespace lacuna::test {
namespace {

using Ints = std::vector<std::int32_t>;
using runtime::MessageHeader;
using runtime::MessageKind;

/// Rank 1 receives what rank 0 sends. The test counts what rank 1 sends back.
struct OneWay {
  explicit OneWay(std::uint64_t credit_bytes) : ranks(2, options(credit_bytes)) {}

  RanksOptions options(std::uint64_t credit_bytes) {
    RanksOptions all{.network = {.eager_limit = 256}, .executor = quick_executor()};
    all.executor.credit_bytes = credit_bytes;
    all.wrap = [this](Rank rank, std::unique_ptr<Transport> transport) -> std::unique_ptr<Transport> {
      if (rank == 1) return transport;
      auto wrapped = std::make_unique<Meddler>(std::move(transport));
      meddler = wrapped.get();
      return wrapped;
    };
    return all;
  }
  runtime::Run& send(const Ints& data) {
    return **ranks.communicator(0).post(
        Send{.data = data.data(), .count = data.size(), .dtype = Dtype::I32, .to = 1, .tag = 0});
  }
  runtime::Run& receive(Ints& data) {
    return **ranks.communicator(1).post(
        Receive{.data = data.data(), .count = data.size(), .dtype = Dtype::I32, .from = 0, .tag = 0});
  }
  /// Sweeps until nothing moves any more. Returns false if that never comes.
  bool settle() {
    for (int round = 0; round < 100'000; ++round) {
      while (!meddler->held.empty()) meddler->pass(0);
      if (!ranks.sweep() && meddler->held.empty()) return true;
    }
    return false;
  }
  /// The number of messages of rank 1 that returned credit and nothing else.
  std::uint64_t credit_messages() const {
    return static_cast<std::uint64_t>(
        std::count_if(meddler->passed.begin(), meddler->passed.end(), [](const Meddler::Message& message) {
          MessageHeader header;
          std::memcpy(&header, message.header.data(), sizeof header);
          return header.kind == MessageKind::Credit;
        }));
  }
  std::uint64_t asked() { return ranks.executor(0).job_counters().descriptor_messages; }

  Meddler* meddler = nullptr;
  Ranks ranks;
};

TEST(Credits, AreReturnedAsSoonAsTheirThresholdIsReached) {
  runtime::ExecutorOptions options = quick_executor();
  options.credit_bytes = 4096;
  const std::size_t bytes = runtime::credit_threshold(options.credit_bytes) - runtime::fragment_charge;
  for (const std::size_t less : {0, 64}) {
    LoneRank rank(2, options);
    std::vector<float> data(bytes / 4), sent(bytes / 4, 3);
    ASSERT_TRUE(rank.communicator.post(Receive{.data = data.data(), .count = data.size(), .from = 1}));
    rank.arrive(LoneRank::message(0, 0, bytes - less), sent, 0, bytes - less);
    EXPECT_EQ(rank.wire.sent.size(), less == 0 ? 1u : 0u);
  }
}

/// There may be at most one credit message for as many eager bytes as credit_threshold() says.
TEST(Credits, AThousandMessagesUnderAnyCreditArriveAndNeverTakeMoreCreditMessagesThanTheThresholdAllows) {
  for (const std::uint64_t credit : {1, 2, 255, 256, 257, 511, 512, 4096}) {
    for (const std::size_t count : {0, 1, 50, 500}) {
      OneWay way(credit);
      const Ints data(count, 7);
      Ints got(count);
      for (int i = 0; i < 1000; ++i) {
        const runtime::Run& sends = way.send(data);
        const runtime::Run& receives = way.receive(got);
        ASSERT_TRUE(way.settle()) << "messages go to and fro without end under a credit of " << credit;
        ASSERT_TRUE(sends.finished && receives.finished && receives.status) << "credit " << credit;
        ASSERT_EQ(got, data);
      }
      const std::uint64_t fragments = std::max<std::uint64_t>((4 * count + 255) / 256, 1);
      const std::uint64_t eager = 1000 - way.asked();
      const std::uint64_t spent = eager * (4 * count + fragments * runtime::fragment_charge);
      EXPECT_LE(way.credit_messages(), spent / runtime::credit_threshold(credit)) << "credit " << credit;
      EXPECT_LE(way.credit_messages(), eager * fragments) << "credit " << credit;
      if (credit > runtime::fragment_charge) continue;
      EXPECT_EQ(way.credit_messages(), 0u) << "credit " << credit;
    }
  }
}

TEST(Credits, BarriersUnderACreditOfOneByteEndAndCauseNoStorm) {
  OneWay way(1);
  for (int i = 0; i < 1000; ++i) {
    const runtime::Run& first = must_post(way.ranks, 0, {.collective = Collective::Barrier});
    const runtime::Run& second = must_post(way.ranks, 1, {.collective = Collective::Barrier});
    ASSERT_TRUE(way.settle());
    ASSERT_TRUE(first.finished && second.finished);
  }
  EXPECT_EQ(way.credit_messages(), 0u);
}

TEST(Credits, AMessageThatNeedsExactlyTheRemainingCreditGoesEagerlyAndOneMoreByteWaitsAtItsSender) {
  const Ints data(250, 7);  // 1000 bytes in 4 fragments
  const std::uint64_t charge = 1000 + 4 * runtime::fragment_charge;
  for (const std::uint64_t messages : {1, 2, 3}) {
    for (const std::uint64_t missing : {0, 1}) {
      OneWay way(messages * charge - missing);
      for (std::uint64_t i = 1; i <= messages; ++i) {
        const bool eager = way.send(data).finished;
        EXPECT_EQ(eager, i < messages || missing == 0) << i << " of " << messages << ", missing " << missing;
      }
      EXPECT_EQ(way.asked(), missing);
    }
  }
}

TEST(Credits, EmptyMessagesOverdrawTheCreditUpToTheirAllowanceAndThenWaitAtTheirSender) {
  OneWay way(4 * runtime::fragment_charge);
  Ints none;
  const std::size_t most = 4 + runtime::empty_allowance / runtime::fragment_charge;
  std::vector<const runtime::Run*> sends;
  for (std::size_t i = 0; i < most + 10; ++i) sends.push_back(&way.send(none));
  EXPECT_EQ(
      static_cast<std::size_t>(std::count_if(sends.begin(), sends.end(), [](auto* run) { return run->finished; })),
      most);
  EXPECT_EQ(way.asked(), 10u);
  for (std::size_t i = 0; i < most + 10; ++i) {
    const runtime::Run& receives = way.receive(none);
    ASSERT_TRUE(way.settle());
    ASSERT_TRUE(receives.finished && receives.status);
  }
  EXPECT_TRUE(std::all_of(sends.begin(), sends.end(), [](auto* run) { return run->finished; }));
  EXPECT_TRUE(way.send(none).finished);
  EXPECT_EQ(way.asked(), 10u);
}

TEST(Credits, SufficeForEachMessageOfACallHoweverLongTheCallIs) {
  RanksOptions options{.network = {}, .executor = quick_executor()};
  options.executor.chunk_bytes = 256;
  options.executor.credit_bytes = 4096;
  Ranks ranks(2, options);
  std::vector<std::vector<float>> data(2, std::vector<float>(1 << 18, 3.0f));
  std::vector<const runtime::Run*> runs;
  for (Rank rank : {0, 1}) runs.push_back(&must_post(ranks, rank, allreduce_call(data[rank], data[rank])));
  while (ranks.sweep()) continue;
  for (Rank rank : {0, 1}) {
    ASSERT_TRUE(runs[rank]->finished && runs[rank]->status);
    EXPECT_EQ(data[rank], std::vector<float>(1 << 18, 6.0f));
    EXPECT_EQ(ranks.executor(rank).job_counters().descriptor_messages, 0u);
  }
}

}  // namespace
}  // namespace lacuna::test
