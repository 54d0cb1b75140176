#include "bindings/cpp/request_list.hpp"

#include <gtest/gtest.h>

#include <array>

#include "tests/bindings/cpp/facade_ranks.hpp"

namespace lacuna {
namespace {

using namespace std::chrono_literals;
using namespace test;

using Floats = std::vector<float>;

class RequestLists : public testing::TestWithParam<Progress> {};
INSTANTIATE_TEST_SUITE_P(, RequestLists, testing::Values(Progress::Caller, Progress::Thread),
                         [](const auto& given) { return std::string(to_string(given.param)); });

// Requests are made here without a second rank: a rank sends to itself.
struct Letter {
  Floats data, room;
  ReceiveRequest receive;

  Letter(Communicator& rank, int tag, std::size_t count = 3) : data(count, static_cast<float>(tag)), room(count) {
    receive = *rank.start_receive<float>(room, 0, tag);
  }
  void post(Communicator& rank, int tag) { ASSERT_TRUE(rank.send<float>(std::span<const float>(data), 0, tag)); }
};

TEST_P(RequestLists, WaitAllEndsOnceTheLastOneHasEnded) {
  auto ranks = local(2, GetParam());
  constexpr std::size_t count = 20;
  std::vector<Floats> out(count), in(count, Floats(50000));
  std::vector<Request> requests(2);  // two empty ones stand in front
  std::thread other([&] {
    std::vector<Request> sends;
    for (std::size_t i = count; i-- > 0;) {
      out[i].assign(50000, static_cast<float>(i));
      sends.push_back(*ranks[1].start_send<float>(std::span<const float>(out[i]), 0, static_cast<int>(i)));
    }
    EXPECT_TRUE(wait_all(sends).status);
  });
  for (std::size_t i = 0; i < count; ++i) {
    requests.push_back(*ranks[0].start_receive<float>(in[i], 1, static_cast<int>(i)));
  }
  const Waited all = wait_all(requests);
  EXPECT_EQ(all.status.to_string(), "ok");
  EXPECT_FALSE(all.index);
  other.join();
  for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(in[i], Floats(50000, static_cast<float>(i)));
  EXPECT_TRUE(wait_all(requests).status) << "all have ended before";
}

TEST_P(RequestLists, AListHoldsRequestsOfOneTypeOrPointersToSeveral) {
  auto ranks = local(1, GetParam());
  Letter letter(ranks[0], 4);
  letter.post(ranks[0], 4);
  Floats data(5, 2);
  CallRequest call = *ranks[0].start(allreduce(data));
  Request empty;
  const std::array<Request*, 4> pointers = {&letter.receive, nullptr, &empty, &call};
  EXPECT_TRUE(wait_all(pointers).status);
  EXPECT_EQ(wait_any(pointers).index, 0u) << "the lowest place that has ended";
  std::array<ReceiveRequest, 2> receives;
  receives[1] = std::move(letter.receive);
  EXPECT_TRUE(wait_all(receives).status);
  EXPECT_EQ(receives[1].received_bytes(), 12u);
}

TEST_P(RequestLists, ThereIsNothingToWaitForIfAllAreEmpty) {
  std::vector<Request> none, two(2);
  for (auto* list : {&none, &two}) {
    EXPECT_TRUE(wait_all(*list).status && wait_any(*list).status && test_any(*list).status);
    EXPECT_FALSE(wait_all(*list).index || wait_any(*list).index || test_any(*list).index);
  }
}

TEST_P(RequestLists, WaitAllTellsTheFirstThatFailedAndTheOthersTellTheirOwn) {
  auto ranks = local(1, GetParam());
  Floats small(1), large(9);
  std::vector<Request> requests;
  requests.push_back(*ranks[0].start_receive<float>(large, 0, 1));
  requests.push_back(*ranks[0].start_receive<float>(small, 0, 2));
  requests.push_back(
      *ranks[0].start(Receive{.data = small.data(), .count = 1, .tag = 3, .options = {.deadline = 30ms}}));
  const Floats four(4, 1);
  for (int tag : {1, 2}) ASSERT_TRUE(ranks[0].send<float>(std::span<const float>(four), 0, tag));
  const Waited all = wait_all(requests);
  EXPECT_EQ(all.index, 1u);
  expect_error(all.status, Code::Mismatch, "request 1 of 3: the message from rank 0 with tag 2 has 4 elements");
  EXPECT_TRUE(requests[0].wait());
  expect_error(requests[2].wait(), Code::TimedOut, "the deadline has passed");
  EXPECT_TRUE(ranks[0].status()) << "only the receives have failed";
}

TEST_P(RequestLists, ATimeoutNamesTheFirstThatGoesOnAndNothingFails) {
  auto ranks = local(1, GetParam());
  Letter first(ranks[0], 1), second(ranks[0], 2);
  first.post(ranks[0], 1);
  Request* both[] = {&first.receive, &second.receive};
  const Waited late = wait_all(both, 20ms);
  EXPECT_EQ(late.index, 1u);
  expect_error(late.status, Code::TimedOut, "20 ms have passed: request 1 of 2: receive from rank 0 with tag 2");
  Request* open[] = {&second.receive};
  const Waited none = wait_any(open, 10ms);
  EXPECT_FALSE(none.index);
  expect_error(none.status, Code::TimedOut, "10 ms have passed, and none of 1 request has ended");
  EXPECT_FALSE(test_any(open).index);
  EXPECT_TRUE(test_any(open).status);
  second.post(ranks[0], 2);
  EXPECT_TRUE(wait_all(both, 20s).status);
}

TEST_P(RequestLists, WaitAnyTellsEachOneOnceItIsTakenOut) {
  auto ranks = local(2, GetParam());
  constexpr std::size_t count = 12;
  std::vector<Floats> in(count, Floats(1000));
  std::vector<ReceiveRequest> receives;
  for (std::size_t i = 0; i < count; ++i) {
    receives.push_back(*ranks[0].start_receive<float>(in[i], 1, static_cast<int>(i)));
  }
  std::thread other([&] {
    for (std::size_t i = count; i-- > 0;) {
      const Floats out(i + 1, static_cast<float>(i));
      ASSERT_TRUE(ranks[1].send<float>(std::span<const float>(out), 0, static_cast<int>(i)));
    }
  });
  std::vector<int> told(count);
  for (std::size_t left = count; left > 0; --left) {
    const Waited one = wait_any(receives, 20s);
    ASSERT_TRUE(one.status && one.index) << one.status.to_string();
    EXPECT_EQ(receives[*one.index].received_bytes(), 4 * (*one.index + 1));
    EXPECT_EQ(in[*one.index][0], static_cast<float>(*one.index));
    ++told[*one.index];
    receives[*one.index] = {};
  }
  other.join();
  EXPECT_EQ(told, std::vector<int>(count, 1));
  EXPECT_FALSE(wait_any(receives).index);
}

TEST_P(RequestLists, WaitAnyTellsTheErrorOfTheOneThatFailed) {
  auto ranks = local(1, GetParam());
  Floats room(1);
  Letter open(ranks[0], 7);
  ReceiveRequest late = *ranks[0].start(Receive{.data = room.data(), .count = 1, .options = {.deadline = 30ms}});
  Request* both[] = {&open.receive, &late};
  const Waited one = wait_any(both);
  EXPECT_EQ(one.index, 1u);
  expect_error(one.status, Code::TimedOut, "the deadline has passed on rank 0: receive from rank 0 with tag 0");
  open.post(ranks[0], 7);
}

TEST_P(RequestLists, APoisonedCommunicatorEndsAllOfItsRequestsAndNoOther) {
  auto ranks = local(2, GetParam());
  std::vector<std::optional<Communicator>> parts(2);
  on_each(ranks, [&](Communicator& rank) { parts[static_cast<std::size_t>(rank.rank())] = *rank.split(0); });
  Floats a(4), b(4), c(4), d(3);
  std::vector<Request> requests;
  requests.push_back(*parts[0]->start_receive<float>(c, 1, 3));
  requests.push_back(*ranks[0].start_receive<float>(a, 1, 1));
  requests.push_back(*ranks[0].start(allreduce(b)));
  std::thread other([&] { EXPECT_EQ(ranks[1].call(allreduce(d)).code(), Code::Mismatch); });
  Request* poisoned[] = {&requests[1], &requests[2]};
  const Waited all = wait_all(poisoned);
  EXPECT_EQ(all.index, 0u);
  EXPECT_EQ(all.status.code(), Code::Mismatch) << all.status.to_string();
  other.join();
  EXPECT_FALSE(requests[0].test());
  const Floats sent(4, 6);
  ASSERT_TRUE(parts[1]->send<float>(std::span<const float>(sent), 0, 3));
  EXPECT_TRUE(wait_all(std::span(requests).first(1)).status);
  EXPECT_EQ(c, sent);
}

TEST_P(RequestLists, RequestsOfDifferentRanksOfThisProcessAreRefused) {
  auto ranks = local(2, GetParam());
  Floats a(1), b(1);
  std::vector<Request> requests;
  requests.push_back(*ranks[0].start_receive<float>(a, 1));
  requests.push_back(*ranks[1].start_receive<float>(b, 0));
  for (const Waited& told : {wait_all(requests, 1s), wait_any(requests, 1s), test_any(requests)}) {
    EXPECT_EQ(told.index, 1u);
    expect_error(told.status, Code::InvalidArgument, "requests 0 and 1 belong to different ranks of this process");
  }
  const Floats sent(1, 1);
  ASSERT_TRUE(ranks[0].send<float>(std::span<const float>(sent), 1));
  ASSERT_TRUE(ranks[1].send<float>(std::span<const float>(sent), 0));
  finish(requests);
}

}  // namespace
}  // namespace lacuna
