#include <gtest/gtest.h>

#include <numeric>

#include "tests/bindings/cpp/facade_ranks.hpp"

namespace lacuna {
namespace {

using namespace std::chrono_literals;
using namespace test;

using Ints = std::vector<std::int32_t>;

Ints numbers(std::size_t count, int first) {
  Ints all(count);
  std::iota(all.begin(), all.end(), first);
  return all;
}

class SendRecv : public testing::TestWithParam<Progress> {};
INSTANTIATE_TEST_SUITE_P(, SendRecv, testing::Values(Progress::Caller, Progress::Thread),
                         [](const auto& given) { return std::string(to_string(given.param)); });

TEST_P(SendRecv, AllRanksOfARingMayCallItAtOnceWhateverTheLength) {
  for (Rank size = 1; size <= 9; ++size) {
    auto ranks = local(size, GetParam());
    for (std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{1009}, std::size_t{300007}}) {
      on_each(ranks, [&](Communicator& rank) {
        const Rank next = (rank.rank() + 1) % size, before = (rank.rank() + size - 1) % size;
        const Ints out = numbers(count, 1000 * rank.rank());
        Ints in(count + 2, -1);
        const auto got = rank.sendrecv<std::int32_t>(out, next, in, before, 3);
        ASSERT_TRUE(got) << got.status().to_string();
        EXPECT_EQ(*got, count);
        Ints expected = numbers(count, 1000 * before);
        expected.insert(expected.end(), 2, -1);
        EXPECT_EQ(in, expected);
      });
    }
  }
}

TEST_P(SendRecv, OneRequestStandsForBothMessages) {
  auto ranks = local(3, GetParam());
  const Ints out = numbers(5, 0);
  Ints in(9, -1);
  ReceiveRequest request = *ranks[0].start_sendrecv<std::int32_t>(out, 1, in, 2);
  EXPECT_FALSE(request.test());
  ASSERT_TRUE(ranks[2].send<std::int32_t>(std::span<const std::int32_t>(out), 0));
  EXPECT_TRUE(request.wait(20s));
  EXPECT_EQ(request.received_bytes(), 20u);
  EXPECT_EQ(request.source(), 2);
  Ints got(5);
  EXPECT_EQ(*ranks[1].receive<std::int32_t>(got, 0), 5u);
  EXPECT_EQ(got, out);
}

TEST_P(SendRecv, BuffersThatOverlapAreRefused) {
  auto ranks = local(1, GetParam());
  Ints all(10);
  const std::span<std::int32_t> room(all);
  EXPECT_EQ(*ranks[0].sendrecv<std::int32_t>(room.first(5), 0, room.last(5), 0), 5u);
  expect_error(ranks[0].sendrecv<std::int32_t>(room.first(6), 0, room.last(5), 0).status(), Code::InvalidArgument,
               "sendrecv: what is sent (24 bytes) and the room for what is received (20 bytes) overlap; they must be "
               "disjoint");
  EXPECT_TRUE(ranks[0].status());
}

TEST_P(SendRecv, ItIsNotOverBeforeItsSendIs) {
  auto ranks = local(2, GetParam());
  const Ints out = numbers(4000000, 0), small = {7};  // more than the credit
  Ints in(1), got(out.size());
  ReceiveRequest request = *ranks[0].start_sendrecv<std::int32_t>(out, 1, in, 1);
  ASSERT_TRUE(ranks[1].send<std::int32_t>(std::span<const std::int32_t>(small), 0));
  EXPECT_EQ(request.wait(50ms).code(), Code::TimedOut);
  EXPECT_EQ(in[0], 7);
  auto receive = ranks[1].start_receive<std::int32_t>(got, 0);
  const auto until = Clock::now() + 20s;
  for (bool both = false; !both && Clock::now() < until;) {
    const bool sent = request.test();
    both = receive->test() && sent;
  }
  EXPECT_TRUE(request.wait());
  EXPECT_EQ(got, out);
}

TEST_P(SendRecv, AFailureOfTheReceiveIsTheOutcomeAndTheSendArrives) {
  auto ranks = local(2, GetParam());
  const Ints out = {5};
  Ints in(1), got(1);
  ReceiveRequest request = *ranks[0].start_sendrecv<std::int32_t>(out, 1, in, 1, 0, {.deadline = 50ms});
  EXPECT_EQ(*ranks[1].receive<std::int32_t>(got, 0), 1u);
  expect_error(request.wait(), Code::TimedOut, "receive from rank 1 with tag 0: no message has come");
  EXPECT_EQ(request.received_bytes(), 0u);
  EXPECT_EQ(got, out);
  EXPECT_TRUE(ranks[0].status());
}

TEST_P(SendRecv, WhatCanNotWorkIsRefusedAndNothingIsSent) {
  auto ranks = local(2, GetParam());
  const Ints out = {1};
  Ints in(1);
  expect_error(ranks[0].sendrecv<std::int32_t>(out, 2, in, 1).status(), Code::InvalidArgument,
               "send to rank 2, must be 0 .. 1");
  expect_error(ranks[0].sendrecv<std::int32_t>(out, 1, in, -1).status(), Code::InvalidArgument,
               "receive from rank -1, must be 0 .. 1");
  expect_error(ranks[0].sendrecv<std::int32_t>(out, 1, in, 1, -1).status(), Code::InvalidArgument, "tag is -1");
  EXPECT_EQ(*ranks[1].probe(0), std::nullopt);
}

TEST_P(SendRecv, TheCompletionQueueGetsItsTokenOnce) {
  auto ranks = local(1, GetParam());
  const Ints out = {3};
  Ints in(1);
  ReceiveRequest request = *ranks[0].start_sendrecv<std::int32_t>(out, 0, in, 0, 0, {.notify = 17});
  ASSERT_TRUE(request.wait());
  const auto first = ranks[0].next_completion();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->token, 17u);
  EXPECT_TRUE(first->status);
  EXPECT_FALSE(ranks[0].next_completion());
}

TEST_P(SendRecv, AReceiveFromAnyRankTellsWhoseMessageItHasTakenAndHowMuch) {
  for (Rank size = 1; size <= 9; ++size) {
    auto ranks = local(size, GetParam());
    on_each(ranks, [&](Communicator& rank) {
      const Ints mine = numbers(static_cast<std::size_t>(rank.rank()) * 100, rank.rank());
      Request send = *rank.start_send<std::int32_t>(std::span<const std::int32_t>(mine), 0, 8);
      std::vector<int> heard(static_cast<std::size_t>(size));
      for (Rank i = 0; rank.rank() == 0 && i < size; ++i) {
        Ints room(1000);
        const auto got = rank.receive_any<std::int32_t>(room, 8);
        ASSERT_TRUE(got) << got.status().to_string();
        ++heard[static_cast<std::size_t>(got->from)];
        room.resize(got->count);
        EXPECT_EQ(room, numbers(static_cast<std::size_t>(got->from) * 100, got->from));
      }
      EXPECT_TRUE(send.wait());
      EXPECT_EQ(heard, std::vector<int>(heard.size(), rank.rank() == 0 ? 1 : 0));
    });
  }
}

}  // namespace
}  // namespace lacuna
