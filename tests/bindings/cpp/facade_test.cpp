#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <set>

#include "tests/bindings/cpp/facade_ranks.hpp"

namespace lacuna {
namespace {

using namespace std::chrono_literals;
using namespace test;

class Facade : public testing::TestWithParam<Progress> {};
INSTANTIATE_TEST_SUITE_P(, Facade, testing::Values(Progress::Caller, Progress::Thread),
                         [](const auto& given) { return std::string(to_string(given.param)); });

TEST_P(Facade, TypedCallsCarryOutTheirCollective) {
  auto ranks = local(3, GetParam());
  on_each(ranks, [](Communicator& rank) {
    const auto me = rank.rank();
    std::vector<float> floats(10, static_cast<float>(me)), sums(10);
    EXPECT_EQ(rank.call(allreduce<float>(floats, sums)).to_string(), "ok");
    EXPECT_EQ(sums, std::vector<float>(10, 3));
    std::vector<double> doubles(10, me);
    EXPECT_EQ(rank.call(allreduce<double>(doubles, doubles, Reduction::Avg)).to_string(), "ok");
    EXPECT_EQ(doubles, std::vector<double>(10, 1));
    std::vector<std::int64_t> longs(6), block(2);
    std::iota(longs.begin(), longs.end(), me);
    EXPECT_EQ(rank.call(reduce_scatter<std::int64_t>(longs, block, Reduction::Max)).to_string(), "ok");
    EXPECT_EQ(block, (std::vector<std::int64_t>{2 * me + 2, 2 * me + 3}));
    std::vector<std::int32_t> mine(2, me), all(6);
    EXPECT_EQ(rank.call(allgather<std::int32_t>(mine, all)).to_string(), "ok");
    EXPECT_EQ(all, (std::vector<std::int32_t>{0, 0, 1, 1, 2, 2}));
    std::vector<std::uint8_t> bytes(5, static_cast<std::uint8_t>(me));
    EXPECT_EQ(rank.call(broadcast<std::uint8_t>(bytes, 2)).to_string(), "ok");
    EXPECT_EQ(bytes, std::vector<std::uint8_t>(5, 2));
    std::vector<float> product(10, -1);
    const std::span<float> most = me == 1 ? std::span(product) : std::span<float>();
    EXPECT_EQ(rank.call(reduce<float>(floats, most, 1, Reduction::Max)).to_string(), "ok");
    EXPECT_EQ(product, std::vector<float>(10, me == 1 ? 2 : -1));
    const std::span<std::int32_t> gathered = me == 2 ? std::span(all) : std::span<std::int32_t>();
    EXPECT_EQ(rank.call(gather<std::int32_t>(mine, gathered, 2)).to_string(), "ok");
    EXPECT_EQ(all, (std::vector<std::int32_t>{0, 0, 1, 1, 2, 2}));
    const std::span<std::int64_t> given = me == 0 ? std::span(longs) : std::span<std::int64_t>();
    EXPECT_EQ(rank.call(scatter<std::int64_t>(given, block)).to_string(), "ok");
    EXPECT_EQ(block, (std::vector<std::int64_t>{2 * me, 2 * me + 1}));
    std::vector<std::int64_t> exchanged(6);
    EXPECT_EQ(rank.call(alltoall<std::int64_t>(longs, exchanged)).to_string(), "ok");
    EXPECT_EQ(exchanged,
              (std::vector<std::int64_t>{2 * me, 2 * me + 1, 2 * me + 1, 2 * me + 2, 2 * me + 2, 2 * me + 3}));
    EXPECT_EQ(rank.call(scan<std::int32_t>(mine, mine)).to_string(), "ok");
    EXPECT_EQ(mine, std::vector<std::int32_t>(2, me * (me + 1) / 2));
    EXPECT_EQ(rank.call(exclusive_scan<float>(floats, product)).to_string(), "ok");
    EXPECT_EQ(product, std::vector<float>(10, me == 0 ? -1.f : me == 1 ? 0.f : 1.f));
    EXPECT_EQ(rank.call(barrier()).to_string(), "ok");
    EXPECT_EQ(rank.hosts().size(), 3u);
  });
}

TEST_P(Facade, OneRankNeedsNobody) {
  auto ranks = local(1, GetParam());
  std::vector<float> data = {1, 2, 3}, result(3);
  EXPECT_EQ(ranks[0].call(allreduce<float>(data, result, Reduction::Avg)).to_string(), "ok");
  EXPECT_EQ(result, data);
  EXPECT_EQ(ranks[0].call(barrier()).to_string(), "ok");
  EXPECT_EQ(ranks[0].counters().payload_sent, 0u);
}

TEST_P(Facade, RequestsFinishInAnyOrderTheyAreWaitedFor) {
  auto ranks = local(2, GetParam());
  std::vector<std::vector<float>> data(8, std::vector<float>(50000, 1));
  std::vector<Request> requests;
  for (std::size_t i = 0; i < data.size(); ++i) {
    auto request = ranks[i % 2].start(allreduce<float>(data[i], data[i]));
    ASSERT_TRUE(request) << request.status().to_string();
    requests.push_back(*std::move(request));
  }
  std::reverse(requests.begin(), requests.end());
  finish(requests);
  for (const auto& one : data) EXPECT_EQ(one, std::vector<float>(50000, 2));
}

TEST_P(Facade, AMovedRequestAndAMovedCommunicatorGoOn) {
  auto ranks = local(2, GetParam());
  std::vector<float> a(100, 1), b(100, 2);
  std::vector<Request> requests(2);
  auto first = ranks[0].start(allreduce<float>(a, a));
  ASSERT_TRUE(first);
  Request moved(*std::move(first));
  requests[0] = std::move(moved);
  EXPECT_TRUE(moved.test());  // an empty request is finished
  EXPECT_TRUE(moved.reclaimed());
  std::vector<Communicator> elsewhere = std::move(ranks);
  auto second = elsewhere[1].start(allreduce<float>(b, b));
  ASSERT_TRUE(second);
  requests[1] = *std::move(second);
  finish(requests);
  EXPECT_EQ(a, std::vector<float>(100, 3));
  EXPECT_EQ(b, std::vector<float>(100, 3));
}

TEST_P(Facade, ARequestOutlivesItsCommunicator) {
  auto ranks = local(2, GetParam());
  std::vector<float> a(100, 1), b(100, 1);
  std::vector<Request> requests;
  requests.push_back(*ranks[0].start(allreduce<float>(a, a)));
  requests.push_back(*ranks[1].start(allreduce<float>(b, b)));
  ranks.clear();
  finish(requests);
  EXPECT_EQ(a, std::vector<float>(100, 2));
}

TEST_P(Facade, WaitingForAWhileEndsWhileTheCallGoesOn) {
  auto ranks = local(2, GetParam());
  std::vector<float> a(100, 1), b(100, 1);
  std::vector<Request> requests;
  requests.push_back(*ranks[0].start(allreduce<float>(a, a)));
  const auto start = Clock::now();
  expect_error(requests[0].wait(50ms), Code::TimedOut, "50 ms");
  EXPECT_GE(Clock::now() - start, 50ms);
  EXPECT_FALSE(requests[0].test());
  EXPECT_TRUE(ranks[0].status());
  requests.push_back(*ranks[1].start(allreduce<float>(b, b)));
  finish(requests);
  EXPECT_EQ(a, std::vector<float>(100, 2));
}

TEST_P(Facade, DestroyingAnUnfinishedRequestWaitsForIt) {
  auto ranks = local(2, GetParam());
  std::vector<float> a(100000, 1), b(100000, 1);
  std::thread later([&] {
    std::this_thread::sleep_for(50ms);
    EXPECT_TRUE(ranks[1].call(allreduce<float>(b, b)));
  });
  { auto request = ranks[0].start(allreduce<float>(a, a)); }
  EXPECT_EQ(a, std::vector<float>(100000, 2));
  later.join();
}

TEST_P(Facade, KeepAliveIsReleasedAfterTheEndAndNotBefore) {
  auto ranks = local(2, GetParam());
  auto tensor = std::make_shared<std::vector<float>>(1000, 1.0f);
  const std::weak_ptr<std::vector<float>> seen = tensor;
  const std::span<float> data = *tensor;
  std::vector<Request> requests;
  requests.push_back(*ranks[0].start(allreduce<float>(data, data, Reduction::Sum, {.keep_alive = tensor})));
  tensor.reset();
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(seen.expired());
  std::vector<float> other(1000, 1);
  requests.push_back(*ranks[1].start(allreduce<float>(other, other)));
  finish(requests);
  const auto until = Clock::now() + 5s;
  while (!seen.expired() && Clock::now() < until) ranks[0].progress();
  EXPECT_TRUE(seen.expired());
}

TEST_P(Facade, CompletionsComeThroughTheDescriptor) {
  auto ranks = local(2, GetParam());
  constexpr std::uint64_t calls = 5;
  std::vector<std::vector<float>> data(2 * calls, std::vector<float>(20000, 1));
  std::vector<Request> requests;
  for (std::uint64_t i = 0; i < 2 * calls; ++i) {
    requests.push_back(*ranks[i % 2].start(allreduce<float>(data[i], data[i], Reduction::Sum, {.notify = i})));
  }
  std::set<std::uint64_t> tokens;
  const auto until = Clock::now() + 20s;
  while (tokens.size() < 2 * calls && Clock::now() < until) {
    bool moved = false;
    for (Communicator& rank : ranks) {
      while (const auto completion = rank.next_completion()) {
        EXPECT_TRUE(completion->status);
        EXPECT_TRUE(tokens.insert(completion->token).second);
      }
      moved = rank.progress() || moved;
    }
    if (moved) continue;
    pollfd fds[] = {{ranks[0].event_fd(), POLLIN, 0}, {ranks[1].event_fd(), POLLIN, 0}};
    if (ranks[0].arm() && ranks[1].arm()) ::poll(fds, 2, 100);
  }
  EXPECT_EQ(tokens.size(), 2 * calls);
  for (Communicator& rank : ranks) EXPECT_FALSE(rank.next_completion());
}

TEST_P(Facade, TheDescriptorIsReadableWhileACompletionWaits) {
  auto ranks = local(1, GetParam());
  pollfd fd{ranks[0].event_fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&fd, 1, 0), 0);
  EXPECT_TRUE(ranks[0].call(barrier({.notify = 7})));
  EXPECT_EQ(::poll(&fd, 1, 5000), 1);
  EXPECT_EQ(ranks[0].next_completion()->token, 7u);
  EXPECT_EQ(::poll(&fd, 1, 0), 0);
}

TEST_P(Facade, CountersCountThePayloadOfEachPeer) {
  auto ranks = local(4, GetParam());
  on_each(ranks, [](Communicator& rank) {
    std::vector<double> data(4000, 1);
    EXPECT_TRUE(rank.call(allreduce<double>(data, data, Reduction::Sum, {.algorithm = "ring"})));
    EXPECT_TRUE(rank.call(barrier()));
  });
  for (Communicator& rank : ranks) {
    EXPECT_EQ(rank.counters().payload_sent, 2 * 3 * 8000u);
    EXPECT_EQ(rank.counters((rank.rank() + 1) % 4).payload_sent, 2 * 3 * 8000u);
    EXPECT_EQ(rank.counters((rank.rank() + 3) % 4).payload_received, 2 * 3 * 8000u);
    EXPECT_GT(rank.counters().header_sent, 0u);
    EXPECT_FALSE(rank.flight_record().empty());
  }
}

TEST(FacadeThreads, ThreadsShareACommunicatorWhenAllRanksPostInOneOrder) {
  auto ranks = local(2, Progress::Thread);
  constexpr int threads = 4, rounds = 50;
  // A ticket for each rank makes the order of posts equal on both ranks. Waiting may come in any order.
  on_each(ranks, [](Communicator& rank) {
    std::atomic<int> turn{0};
    std::atomic<int> wrong{0};
    std::vector<std::thread> workers;
    for (int me = 0; me < threads; ++me) {
      workers.emplace_back([&, me] {
        std::vector<std::int32_t> data(700, me);
        for (int round = 0; round < rounds; ++round) {
          std::fill(data.begin(), data.end(), me + round);
          while (turn != round * threads + me) std::this_thread::yield();
          auto request = rank.start(allreduce<std::int32_t>(data, data));
          ++turn;
          if (!request || !request->wait() || data != std::vector<std::int32_t>(700, 2 * (me + round))) ++wrong;
        }
      });
    }
    for (std::thread& worker : workers) worker.join();
    EXPECT_EQ(wrong, 0);
  });
}

}  // namespace
}  // namespace lacuna
