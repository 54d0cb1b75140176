#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <thread>

#include "bindings/cpp/lacuna.hpp"
#include "tests/support/process.hpp"

namespace lacuna {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

std::vector<Communicator> local(Rank size, Progress progress) {
  auto ranks = Communicator::local(size, {.progress = progress});
  EXPECT_TRUE(ranks) << ranks.status().to_string();
  EXPECT_EQ(ranks->size(), static_cast<std::size_t>(size));
  return *std::move(ranks);
}

/// Calls body(rank's communicator) on a thread per rank.
void on_each(std::vector<Communicator>& ranks, const std::function<void(Communicator&)>& body) {
  std::vector<std::thread> threads;
  for (Communicator& rank : ranks) threads.emplace_back([&] { body(rank); });
  for (std::thread& thread : threads) thread.join();
}

/// Tests all requests in turn until all have ended.
void finish(std::vector<Request>& requests) {
  const auto until = Clock::now() + 20s;
  bool all = false;
  while (!all && Clock::now() < until) {
    all = true;
    for (Request& request : requests) all = request.test() && all;
  }
  EXPECT_TRUE(all);
  for (Request& request : requests) EXPECT_EQ(request.wait().to_string(), "ok");
}

void expect_error(const Status& status, Code code, const std::string& part) {
  EXPECT_EQ(status.code(), code) << status.to_string();
  EXPECT_NE(status.message().find(part), std::string::npos) << status.to_string();
}

class Facade : public testing::TestWithParam<Progress> {};
INSTANTIATE_TEST_SUITE_P(, Facade, testing::Values(Progress::Caller, Progress::Thread),
                         [](const auto& given) { return std::string(to_string(given.param)); });

TEST_P(Facade, TypedCallsCarryOutTheirCollective) {
  auto ranks = local(3, GetParam());
  on_each(ranks, [](Communicator& rank) {
    const auto me = rank.rank();
    std::vector<float> floats(10, static_cast<float>(me)), sums(10);
    EXPECT_EQ(rank.allreduce<float>(floats, sums).to_string(), "ok");
    EXPECT_EQ(sums, std::vector<float>(10, 3));
    std::vector<double> doubles(10, me);
    EXPECT_EQ(rank.allreduce<double>(doubles, doubles, Reduction::Avg).to_string(), "ok");
    EXPECT_EQ(doubles, std::vector<double>(10, 1));
    std::vector<std::int64_t> longs(6), block(2);
    std::iota(longs.begin(), longs.end(), me);
    EXPECT_EQ(rank.reduce_scatter<std::int64_t>(longs, block, Reduction::Max).to_string(), "ok");
    EXPECT_EQ(block, (std::vector<std::int64_t>{2 * me + 2, 2 * me + 3}));
    std::vector<std::int32_t> mine(2, me), all(6);
    EXPECT_EQ(rank.allgather<std::int32_t>(mine, all).to_string(), "ok");
    EXPECT_EQ(all, (std::vector<std::int32_t>{0, 0, 1, 1, 2, 2}));
    std::vector<std::uint8_t> bytes(5, static_cast<std::uint8_t>(me));
    EXPECT_EQ(rank.broadcast<std::uint8_t>(bytes, 2).to_string(), "ok");
    EXPECT_EQ(bytes, std::vector<std::uint8_t>(5, 2));
    EXPECT_EQ(rank.barrier().to_string(), "ok");
    EXPECT_EQ(rank.hosts().size(), 3u);
  });
}

TEST_P(Facade, OneRankNeedsNobody) {
  auto ranks = local(1, GetParam());
  std::vector<float> data = {1, 2, 3}, result(3);
  EXPECT_EQ(ranks[0].allreduce<float>(data, result, Reduction::Avg).to_string(), "ok");
  EXPECT_EQ(result, data);
  EXPECT_EQ(ranks[0].barrier().to_string(), "ok");
  EXPECT_EQ(ranks[0].counters().payload_sent, 0u);
}

TEST_P(Facade, RequestsFinishInAnyOrderTheyAreWaitedFor) {
  auto ranks = local(2, GetParam());
  std::vector<std::vector<float>> data(8, std::vector<float>(50000, 1));
  std::vector<Request> requests;
  for (std::size_t i = 0; i < data.size(); ++i) {
    auto request = ranks[i % 2].start_allreduce<float>(data[i], data[i]);
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
  auto first = ranks[0].start_allreduce<float>(a, a);
  ASSERT_TRUE(first);
  Request moved(*std::move(first));
  requests[0] = std::move(moved);
  EXPECT_TRUE(moved.test());  // an empty request is finished
  EXPECT_TRUE(moved.reclaimed());
  std::vector<Communicator> elsewhere = std::move(ranks);
  auto second = elsewhere[1].start_allreduce<float>(b, b);
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
  requests.push_back(*ranks[0].start_allreduce<float>(a, a));
  requests.push_back(*ranks[1].start_allreduce<float>(b, b));
  ranks.clear();
  finish(requests);
  EXPECT_EQ(a, std::vector<float>(100, 2));
}

TEST_P(Facade, WaitingForAWhileEndsWhileTheCallGoesOn) {
  auto ranks = local(2, GetParam());
  std::vector<float> a(100, 1), b(100, 1);
  std::vector<Request> requests;
  requests.push_back(*ranks[0].start_allreduce<float>(a, a));
  const auto start = Clock::now();
  expect_error(requests[0].wait(50ms), Code::TimedOut, "50 ms");
  EXPECT_GE(Clock::now() - start, 50ms);
  EXPECT_FALSE(requests[0].test());
  EXPECT_TRUE(ranks[0].status());
  requests.push_back(*ranks[1].start_allreduce<float>(b, b));
  finish(requests);
  EXPECT_EQ(a, std::vector<float>(100, 2));
}

TEST_P(Facade, DestroyingAnUnfinishedRequestWaitsForIt) {
  auto ranks = local(2, GetParam());
  std::vector<float> a(100000, 1), b(100000, 1);
  std::thread later([&] {
    std::this_thread::sleep_for(50ms);
    EXPECT_TRUE(ranks[1].allreduce<float>(b, b));
  });
  { auto request = ranks[0].start_allreduce<float>(a, a); }
  EXPECT_EQ(a, std::vector<float>(100000, 2));
  later.join();
}

TEST_P(Facade, AnExpiredCallPoisonsAllRanksWithTheNameOfTheLateOne) {
  auto ranks = local(3, GetParam());
  std::vector<float> data(100, 1);
  const Options soon{.deadline = 200ms};
  std::vector<Request> requests;
  for (std::size_t rank : {0, 2}) requests.push_back(*ranks[rank].start_allreduce<float>(data, data, {}, soon));
  const auto until = Clock::now() + 10s;
  while (!(requests[0].test() && requests[1].test()) && Clock::now() < until) continue;
  for (Request& request : requests) expect_error(request.wait(), Code::TimedOut, "rank 1 has not posted it");
  for (Communicator& rank : ranks) {
    expect_error(rank.status(), Code::TimedOut, "rank 1 has not posted it");
    EXPECT_EQ(rank.barrier().to_string(), rank.status().to_string());
    expect_error(rank.start_allreduce<float>(data, data).status(), Code::TimedOut, "rank 1 has not posted it");
  }
}

TEST_P(Facade, CallsThatDifferAreNamedOnAllRanks) {
  auto ranks = local(3, GetParam());
  on_each(ranks, [](Communicator& rank) {
    std::vector<float> data(rank.rank() == 1 ? 101 : 100, 1);
    // One of ranks 0 and 2 may not have come to the call yet when the other two are compared.
    expect_error(rank.allreduce<float>(data, data), Code::Mismatch, "call 0 differs: rank");
    expect_error(rank.status(), Code::Mismatch, " posted allreduce recursive_doubling f32 count 100 sum");
    expect_error(rank.status(), Code::Mismatch, "rank 1 posted allreduce recursive_doubling f32 count 101 sum");
  });
}

TEST_P(Facade, ARankThatLeftIsNamed) {
  auto ranks = local(2, GetParam());
  ranks.pop_back();
  expect_error(ranks[0].barrier(), Code::PeerFailed, "rank 1 left the job before call 0");
}

TEST_P(Facade, KeepAliveIsReleasedAfterTheEndAndNotBefore) {
  auto ranks = local(2, GetParam());
  auto tensor = std::make_shared<std::vector<float>>(1000, 1.0f);
  const std::weak_ptr<std::vector<float>> seen = tensor;
  const std::span<float> data = *tensor;
  std::vector<Request> requests;
  requests.push_back(*ranks[0].start_allreduce<float>(data, data, Reduction::Sum, {.keep_alive = tensor}));
  tensor.reset();
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(seen.expired());
  std::vector<float> other(1000, 1);
  requests.push_back(*ranks[1].start_allreduce<float>(other, other));
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
    requests.push_back(*ranks[i % 2].start_allreduce<float>(data[i], data[i], Reduction::Sum, {.notify = i}));
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
  EXPECT_TRUE(ranks[0].barrier({.notify = 7}));
  EXPECT_EQ(::poll(&fd, 1, 5000), 1);
  EXPECT_EQ(ranks[0].next_completion()->token, 7u);
  EXPECT_EQ(::poll(&fd, 1, 0), 0);
}

TEST_P(Facade, CountersCountThePayloadOfEachPeer) {
  auto ranks = local(4, GetParam());
  on_each(ranks, [](Communicator& rank) {
    std::vector<double> data(4000, 1);
    EXPECT_TRUE(rank.allreduce<double>(data, data, Reduction::Sum, {.algorithm = "ring"}));
    EXPECT_TRUE(rank.barrier());
  });
  for (Communicator& rank : ranks) {
    EXPECT_EQ(rank.counters().payload_sent, 2 * 3 * 8000u);
    EXPECT_EQ(rank.counters((rank.rank() + 1) % 4).payload_sent, 2 * 3 * 8000u);
    EXPECT_EQ(rank.counters((rank.rank() + 3) % 4).payload_received, 2 * 3 * 8000u);
    EXPECT_GT(rank.counters().header_sent, 0u);
    EXPECT_FALSE(rank.flight_record().empty());
  }
}

TEST_P(Facade, RefusedCallsSayWhatIsAllowedAndPoisonNothing) {
  auto ranks = local(2, GetParam());
  std::vector<float> data(10, 1);
  std::vector<std::int32_t> integers(10, 1);
  for (Communicator& rank : ranks) {
    const auto refused = [&](const Call& call) { return rank.run(call); };
    const Code bad = Code::InvalidArgument;
    expect_error(rank.broadcast<float>(data, 2), bad, "root is 2, must be 0 .. 1");
    expect_error(rank.broadcast<float>(data, -1), bad, "root is -1, must be 0 .. 1");
    expect_error(rank.allreduce<std::int32_t>(integers, integers, Reduction::Avg), bad, "avg of i32");
    expect_error(rank.allreduce<float>(std::span<float>(data).first(6), std::span<float>(data).last(6)), bad,
                 "overlap");
    expect_error(rank.allreduce<float>(data, std::span<float>(data).first(6)), bad, "10 elements, must have 6");
    expect_error(rank.reduce_scatter<float>(data, std::span<float>(data).first(4)), bad, "10 elements, must have 8");
    expect_error(rank.allgather<float>(std::span<float>(data).first(4), data), bad, "10 elements, must have 8");
    expect_error(refused({.collective = Collective::Allreduce, .output = data.data(), .count = 10}), bad,
                 "input is null");
    expect_error(refused({.collective = Collective::Allreduce, .input = data.data(), .count = 10}), bad,
                 "output is null");
    expect_error(rank.allreduce<float>(data, data, {}, {.algorithm = "skip_ring", .skip_steps = 2}), bad,
                 "skip_steps is 2, must be 0 .. 1");
    expect_error(rank.allreduce<float>(data, data, {}, {.algorithm = "skip_ring", .skip_steps = -1}), bad,
                 "skip_steps is -1, must be 0 .. 1");
    expect_error(rank.allreduce<float>(data, data, {}, {.algorithm = "ring", .skip_steps = 1}), bad, "skips no steps");
    expect_error(rank.allreduce<float>(data, data, {}, {.algorithm = "rings"}), bad,
                 "no allreduce algorithm is called 'rings'; there are: ring, recursive_doubling, skip_ring");
    expect_error(refused({.collective = Collective::Allreduce,
                          .input = data.data(),
                          .output = data.data(),
                          .count = 10,
                          .memory = {.kind = MemoryKind::Cuda}}),
                 Code::Unsupported, "memory");
    EXPECT_TRUE(rank.status());
  }
  on_each(ranks, [](Communicator& rank) {
    std::vector<float> good(10, 1);
    EXPECT_EQ(rank.allreduce<float>(good, good).to_string(), "ok");
    EXPECT_EQ(good, std::vector<float>(10, 2));
  });
}

TEST_P(Facade, CountsWhoseBytesCannotBeCountedAreRefused) {
  auto ranks = local(2, GetParam());
  std::vector<float> data(10, 1);
  for (Collective collective : {Collective::Allreduce, Collective::ReduceScatter, Collective::Allgather}) {
    const Call call{.collective = collective,
                    .input = data.data(),
                    .output = data.data(),
                    .count = SIZE_MAX / 4 + 1,  // of 4 bytes: 0, if they could overflow
                    .options = {.deadline = 500ms}};
    expect_error(ranks[0].run(call), Code::InvalidArgument, "4611686018427387904");
  }
  EXPECT_TRUE(ranks[0].status());
}

TEST_P(Facade, TooManyCallsInFlightAreBusyAndSendNothing) {
  ::setenv("LACUNA_MAX_RUNS", "4", 1);
  auto ranks = local(2, GetParam());
  ::unsetenv("LACUNA_MAX_RUNS");
  std::vector<float> data(10, 1);
  std::vector<Request> requests;
  for (int i = 0; i < 4; ++i) requests.push_back(*ranks[0].start_allreduce<float>(data, data));
  expect_error(ranks[0].start_allreduce<float>(data, data).status(), Code::Busy, "at most 4");
  std::vector<std::vector<float>> others(4, data);
  for (auto& other : others) requests.push_back(*ranks[1].start_allreduce<float>(other, other));
  finish(requests);
  EXPECT_TRUE(ranks[0].status());
}

TEST(FacadeThreads, ThreadsShareACommunicatorWhenAllRanksPostInOneOrder) {
  auto ranks = local(2, Progress::Thread);
  constexpr int threads = 4, rounds = 50;
  // A ticket per rank keeps the order of posts equal on both ranks; waiting is free of order.
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
          auto request = rank.start_allreduce<std::int32_t>(data, data);
          ++turn;
          if (!request || !request->wait() || data != std::vector<std::int32_t>(700, 2 * (me + round))) ++wrong;
        }
      });
    }
    for (std::thread& worker : workers) worker.join();
    EXPECT_EQ(wrong, 0);
  });
}

/// Sets variables as long as it lives.
class Variables {
 public:
  explicit Variables(std::map<std::string, std::string> values) : values_(std::move(values)) {
    for (const auto& [name, value] : values_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~Variables() {
    for (const auto& [name, value] : values_) ::unsetenv(name.c_str());
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

 private:
  std::map<std::string, std::string> values_;
};

/// What the constructor of the world throws.
std::string thrown(const WorldOptions& options = {}) {
  try {
    const Communicator world(options);
    return "nothing";
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), error.status().to_string());
    return error.what();
  }
}

TEST(World, WithoutVariablesIsOneRank) {
  const Communicator world;
  EXPECT_EQ(world.size(), 1);
  EXPECT_EQ(world.rank(), 0);
}

TEST(World, ARankWithoutASizeIsRefused) {
  const Variables variables{{{"LACUNA_RANK", "0"}}};
  EXPECT_NE(thrown().find("LACUNA_RANK and LACUNA_SIZE go together"), std::string::npos) << thrown();
}

TEST(World, ARankBeyondTheSizeIsRefused) {
  const Variables variables{{{"LACUNA_RANK", "2"}, {"LACUNA_SIZE", "2"}, {"LACUNA_STORE", "127.0.0.1:1"}}};
  EXPECT_NE(thrown().find("rank 2 of 2"), std::string::npos) << thrown();
}

TEST(World, AJobWithoutAStoreIsRefused) {
  const Variables variables{{{"LACUNA_RANK", "0"}, {"LACUNA_SIZE", "2"}}};
  EXPECT_NE(thrown().find("needs LACUNA_STORE"), std::string::npos) << thrown();
}

TEST(World, AValueThatIsNoneIsRefusedByItsVariable) {
  const Variables variables{{{"LACUNA_CHUNK", "huge"}}};
  EXPECT_NE(thrown().find("LACUNA_CHUNK"), std::string::npos) << thrown();
}

TEST(World, AStoreThatNobodyServesIsGivenUpInTime) {
  const test::ReservedPort port;
  const Variables variables{{{"LACUNA_BOOTSTRAP_TIMEOUT", "0.5"}}};
  const auto start = Clock::now();
  const std::string text = thrown({.rank = 1, .size = 2, .store = port.store(), .key = "key"});
  EXPECT_NE(text.find(port.store()), std::string::npos) << text;
  EXPECT_LT(Clock::now() - start, 10s);
}

TEST(World, RanksThatStayAwayAreNamedInTime) {
  const test::ReservedPort port;
  const Variables variables{{{"LACUNA_BOOTSTRAP_TIMEOUT", "0.5"}}};
  const std::string text = thrown({.rank = 0, .size = 3, .store = port.store(), .key = "key"});
  EXPECT_NE(text.find("ranks 1, 2"), std::string::npos) << text;
}

TEST(World, AJobInThisProcessHasAtLeastOneRank) {
  expect_error(Communicator::local(0).status(), Code::InvalidArgument, "0 ranks");
}

}  // namespace
}  // namespace lacuna
