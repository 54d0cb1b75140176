#include <gtest/gtest.h>

#include <cstdlib>

#include "algorithms/skip/skip.hpp"
#include "tests/bindings/cpp/facade_ranks.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/skip_call.hpp"

namespace lacuna {
namespace {

using namespace std::chrono_literals;
using namespace test;

class FacadeFailures : public testing::TestWithParam<Progress> {};
INSTANTIATE_TEST_SUITE_P(, FacadeFailures, testing::Values(Progress::Caller, Progress::Thread),
                         [](const auto& given) { return std::string(to_string(given.param)); });

TEST_P(FacadeFailures, AnExpiredCallPoisonsAllRanksWithTheNameOfTheLateOne) {
  auto ranks = local(3, GetParam());
  std::vector<float> data(100, 1);
  const Options soon{.deadline = 200ms};
  std::vector<Request> requests;
  for (std::size_t rank : {0, 2}) requests.push_back(*ranks[rank].start(allreduce<float>(data, data, {}, soon)));
  const auto until = Clock::now() + 10s;
  while (!(requests[0].test() && requests[1].test()) && Clock::now() < until) continue;
  for (Request& request : requests) expect_error(request.wait(), Code::TimedOut, "rank 1 has not posted it");
  for (Communicator& rank : ranks) {
    expect_error(rank.status(), Code::TimedOut, "rank 1 has not posted it");
    EXPECT_EQ(rank.call(barrier()).to_string(), rank.status().to_string());
    expect_error(rank.start(allreduce<float>(data, data)).status(), Code::TimedOut, "rank 1 has not posted it");
  }
}

TEST_P(FacadeFailures, ACallThatIsOnlyWaitedForWithoutPatienceEndsAtItsDeadline) {
  auto ranks = local(2, GetParam());
  std::vector<float> data(10);
  auto request = ranks[0].start(allreduce<float>(data, data, {}, {.deadline = 100ms}));
  ASSERT_TRUE(request);
  const auto until = Clock::now() + 5s;
  Status ended(Code::TimedOut, "");
  while (ranks[0].status() && Clock::now() < until) ended = request->wait(0ms);
  expect_error(request->wait(0ms), Code::TimedOut, "rank 1 has not posted it");
}

TEST_P(FacadeFailures, CallsThatDifferAreNamedOnAllRanks) {
  auto ranks = local(3, GetParam());
  on_each(ranks, [](Communicator& rank) {
    std::vector<float> data(rank.rank() == 1 ? 101 : 100, 1);
    // One of ranks 0 and 2 may not have come to the call yet when the other two are compared.
    expect_error(rank.call(allreduce<float>(data, data)), Code::Mismatch, "call 0 differs: rank");
    expect_error(rank.status(), Code::Mismatch, " posted allreduce board f32 count 100 sum");
    expect_error(rank.status(), Code::Mismatch, "rank 1 posted allreduce board f32 count 101 sum");
  });
}

TEST_P(FacadeFailures, ARankThatLeftIsNamed) {
  auto ranks = local(2, GetParam());
  ranks.pop_back();
  expect_error(ranks[0].call(barrier()), Code::PeerFailed, "rank 1 left the job before call 0");
}

TEST(FacadeMessages, OneFromARankThatHasLeftArrivesAndOneThatItNeverSentIsAnError) {
  const test::Variable changed("LACUNA_STALL", "0.1");
  auto ranks = local(2, Progress::Thread);
  std::vector<float> data(1000, 3), got(1000);
  Request send = *ranks[1].start_send<float>(data, 0, 7);
  send = {};
  ranks.pop_back();
  std::this_thread::sleep_for(300ms);
  const auto count = ranks[0].receive<float>(got, 1, 7);
  ASSERT_TRUE(count) << count.status().to_string();
  EXPECT_EQ(got, data);
  const Status missing = ranks[0].receive<float>(got, 1, 7).status();
  expect_error(missing, Code::PeerFailed, "rank 1 left the job before a message with tag 7 between ranks 0 and 1");
}

TEST_P(FacadeFailures, ASendToARankThatLeftNamesIt) {
  auto ranks = local(2, GetParam());
  ranks.pop_back();
  const std::vector<float> data(1 << 20, 3);
  expect_error(ranks[0].send<float>(data, 1, 7), Code::PeerFailed,
               "rank 1 left the job before a message with tag 7 between ranks 0 and 1");
}

TEST_P(FacadeFailures, RefusedCallsSayWhatIsAllowedAndPoisonNothing) {
  auto ranks = local(2, GetParam());
  std::vector<float> data(10, 1);
  std::vector<std::int32_t> integers(10, 1);
  for (Communicator& rank : ranks) {
    const auto refused = [&](const Call& call) { return rank.call(call); };
    const Code bad = Code::InvalidArgument;
    expect_error(rank.call(broadcast<float>(data, 2)), bad, "root is 2, must be 0 .. 1");
    expect_error(rank.call(broadcast<float>(data, -1)), bad, "root is -1, must be 0 .. 1");
    expect_error(rank.call(allreduce<std::int32_t>(integers, integers, Reduction::Avg)), bad, "avg of i32");
    expect_error(rank.call(allreduce<float>(std::span<float>(data).first(6), std::span<float>(data).last(6))), bad,
                 "overlap");
    expect_error(rank.call(allreduce<float>(data, std::span<float>(data).first(6))), bad, "10 elements, must have 6");
    expect_error(rank.call(reduce_scatter<float>(data, std::span<float>(data).first(4))), bad,
                 "10 elements, must have 8");
    expect_error(rank.call(allgather<float>(std::span<float>(data).first(4), data)), bad, "10 elements, must have 8");
    expect_error(refused({.collective = Collective::Allreduce, .output = data.data(), .count = 10}), bad,
                 "input is null");
    expect_error(refused({.collective = Collective::Allreduce, .input = data.data(), .count = 10}), bad,
                 "output is null");
    expect_error(
        rank.call(allreduce<float>(data, data, {}, {.algorithm = "skip_ring", .method = lacuna::skip({.steps = 2})})),
        bad, "skip.steps is 2, must be 0 .. 1");
    expect_error(
        rank.call(allreduce<float>(data, data, {}, {.algorithm = "skip_ring", .method = lacuna::skip({.steps = -1})})),
        bad, "skip.steps is -1, must be 0 .. 1");
    expect_error(rank.call(allreduce<float>(data, data, {},
                                            {.algorithm = "recursive_doubling", .method = lacuna::skip({.steps = 1})})),
                 bad, "allreduce recursive_doubling does not serve the method skip; there are: ring, ");
    expect_error(rank.call(allreduce<float>(data, data, {}, {.algorithm = "rings"})), bad,
                 "no allreduce algorithm is called 'rings' (did you mean ring?); there are: ring, recursive_doubling");
    expect_error(rank.call(scan<float>(data, data, Reduction::Avg)), bad, "scan has no avg");
    expect_error(rank.call(alltoall<float>(std::span<float>(data).first(5), std::span<float>(data).last(5))), bad,
                 "the input has 5 elements, must have 4");
    expect_error(rank.call(gather<float>(data, std::span<float>(), 2)), bad, "root is 2, must be 0 .. 1");
    expect_error(rank.call(scatter<float>(data, std::span<float>(data).first(4), rank.rank())), bad,
                 "the input has 10 elements, must have 8");
    expect_error(refused({.collective = Collective::Allreduce,
                          .input = data.data(),
                          .output = data.data(),
                          .count = 10,
                          .memory = {.kind = MemoryKind::Cuda}}),
                 Code::Unsupported, "a buffer lies in cuda memory of device 0: ");
    EXPECT_TRUE(rank.status());
  }
  on_each(ranks, [](Communicator& rank) {
    std::vector<float> good(10, 1);
    EXPECT_EQ(rank.call(allreduce<float>(good, good)).to_string(), "ok");
    EXPECT_EQ(good, std::vector<float>(10, 2));
  });
}

TEST_P(FacadeFailures, CountsWhoseBytesCannotBeCountedAreRefused) {
  auto ranks = local(2, GetParam());
  std::vector<float> data(10, 1);
  for (Collective collective : all_collectives) {
    if (!moves_data(collective) || has_tables(collective)) continue;
    const Call call{.collective = collective,
                    .input = data.data(),
                    .output = data.data(),
                    .count = SIZE_MAX / 4 + 1,  // of 4 bytes: 0, if they could overflow
                    .options = {.deadline = 500ms}};
    expect_error(ranks[0].call(call), Code::InvalidArgument, "4611686018427387904");
  }
  EXPECT_TRUE(ranks[0].status());
}

TEST_P(FacadeFailures, TimesThatNobodyLivesToSeeAreTimesAndNegativeOnesAreRefused) {
  auto ranks = local(2, GetParam());
  std::vector<float> data(10, 1), other(10, 1);
  const auto ever = std::chrono::milliseconds::max();
  std::vector<Request> requests;
  requests.push_back(*ranks[0].start(allreduce<float>(data, data, {}, {.deadline = ever})));
  requests.push_back(*ranks[0].start_receive<float>(other, 1, 0, {.deadline = ever}));
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(requests[0].test());
    std::this_thread::sleep_for(2ms);
  }
  EXPECT_TRUE(ranks[0].status());
  std::vector<float> mine(10, 1);
  requests.push_back(*ranks[1].start(allreduce<float>(mine, mine)));
  requests.push_back(*ranks[1].start_send<float>(mine, 0));
  finish(requests);
  EXPECT_EQ(requests[0].wait(ever).to_string(), "ok");
  expect_error(ranks[0].call(barrier({.deadline = -5ms})), Code::InvalidArgument,
               "deadline is -5 ms, must be 0 or more");
  expect_error(ranks[0].send<float>(data, 1, 0, {.deadline = -5ms}), Code::InvalidArgument, "deadline is -5 ms");
}

TEST_P(FacadeFailures, ThereIsNoTrafficWithARankThatThereIsNot) {
  auto ranks = local(2, GetParam());
  for (Rank peer : {-1, 2}) EXPECT_EQ(ranks[0].counters(peer).messages_sent, 0u);
}

TEST_P(FacadeFailures, AnOldCallThatHasNotEndedIsNamedAndKeepsItsPlace) {
  const test::Variable changed("LACUNA_MAX_RUNS", "2");
  auto ranks = local(2, GetParam());
  std::vector<float> data(10, 1), other(10, 1), word(10, 5), heard(10);
  std::vector<Request> requests;
  requests.push_back(*ranks[0].start(allreduce<float>(data, data)));
  auto eager = ranks[0].start(broadcast<float>(word, 0));
  ASSERT_TRUE(eager) << eager.status().to_string();
  const auto until = Clock::now() + 10s;
  while (!eager->test() && Clock::now() < until) continue;
  EXPECT_EQ(eager->wait(1ms).to_string(), "ok") << "the root's part needs nobody";
  expect_error(ranks[0].start(barrier()).status(), Code::Busy, "call 0 has not ended, and 1 call started after it");
  requests.push_back(*ranks[1].start(allreduce<float>(other, other)));
  requests.push_back(*ranks[1].start(broadcast<float>(heard, 0)));
  finish(requests);
  EXPECT_EQ(heard, word);
}

TEST_P(FacadeFailures, ASplitWaitsForAnOldCallThatHasNotEnded) {
  const test::Variable changed("LACUNA_MAX_RUNS", "2");
  auto ranks = local(2, GetParam());
  std::vector<std::vector<float>> data(2, std::vector<float>(4 << 20, 1));
  on_each(ranks, [&](Communicator& rank) {
    auto& mine = data[static_cast<std::size_t>(rank.rank())];
    Request old = *rank.start(allreduce<float>(mine, mine, {}, {.priority = Priority::Low}));
    EXPECT_TRUE(rank.split(0));
    EXPECT_TRUE(old.wait());
    EXPECT_TRUE(rank.call(barrier()));
  });
}

TEST_P(FacadeFailures, TooManyCallsInFlightAreBusyAndSendNothing) {
  const test::Variable changed("LACUNA_MAX_RUNS", "4");
  auto ranks = local(2, GetParam());
  std::vector<float> data(10, 1);
  std::vector<Request> requests;
  for (int i = 0; i < 4; ++i) requests.push_back(*ranks[0].start(allreduce<float>(data, data)));
  expect_error(ranks[0].start(allreduce<float>(data, data)).status(), Code::Busy, "at most 4");
  std::vector<std::vector<float>> others(4, data);
  for (auto& other : others) requests.push_back(*ranks[1].start(allreduce<float>(other, other)));
  finish(requests);
  EXPECT_TRUE(ranks[0].status());
}

}  // namespace
}  // namespace lacuna
