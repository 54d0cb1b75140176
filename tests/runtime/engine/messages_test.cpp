#include <gtest/gtest.h>
#include <malloc.h>

#include <deque>
#include <memory>
#include <numeric>
#include <random>

#include "tests/support/calls.hpp"

namespace lacuna::test {
namespace {

using namespace std::chrono_literals;
using Ints = std::vector<std::int32_t>;

Send send_of(const Ints& data, Rank to, int tag = 0) {
  return {.data = data.data(), .count = data.size(), .dtype = Dtype::I32, .to = to, .tag = tag};
}

Receive receive_of(Ints& data, Rank from, int tag = 0) {
  return {.data = data.data(), .count = data.size(), .dtype = Dtype::I32, .from = from, .tag = tag};
}

template <class Side>
runtime::Run& must_post_message(runtime::Communicator& communicator, const Side& side) {
  auto posted = communicator.post(side);
  EXPECT_TRUE(posted) << posted.status().to_string();
  return **posted;
}

template <class Side>
runtime::Run& must_post_message(Ranks& ranks, Rank rank, const Side& side) {
  return must_post_message(ranks.communicator(rank), side);
}

Ints numbers(std::size_t count, std::int32_t first = 0) {
  Ints all(count);
  std::iota(all.begin(), all.end(), first);
  return all;
}

bool says(const Status& status, const std::string& text) { return status.message().find(text) != std::string::npos; }

TEST(Messages, AMessageOfAnyLengthArrivesWholeAndItsReceiveKnowsTheLength) {
  for (bool asks : {false, true}) {
    for (std::size_t count :
         {std::size_t{0}, std::size_t{1}, std::size_t{17}, std::size_t{5000}, std::size_t{2000003}}) {
      RanksOptions options{.network = {}, .executor = quick_executor()};
      if (asks) options.executor.eager_bytes = 0;
      Ranks ranks(2, options);
      const Ints data = numbers(count);
      Ints received(count + 3, -1);
      for (bool late : {false, true}) {
        runtime::Run* receive = late ? nullptr : &must_post_message(ranks, 1, receive_of(received, 0, 5));
        runtime::Run& send = must_post_message(ranks, 0, send_of(data, 1, 5));
        if (late) ranks.sweep_until([] { return false; });
        if (!receive) receive = &must_post_message(ranks, 1, receive_of(received, 0, 5));
        ASSERT_TRUE(ranks.sweep_until([&] { return send.finished && receive->finished; }));
        EXPECT_TRUE(send.status && receive->status) << receive->status.to_string();
        EXPECT_EQ(ranks.communicator(1).received(*receive), 4 * count);
        EXPECT_TRUE(std::equal(data.begin(), data.end(), received.begin()));
        EXPECT_EQ(Ints(received.end() - 3, received.end()), Ints(3, -1));
        ranks.communicator(1).release(*receive);
        ranks.communicator(0).release(send);
      }
    }
  }
}

TEST(Messages, TagsMeetTheirReceivesWhateverTheOrderInWhichBothWerePosted) {
  Ranks ranks(2);
  const Ints first = numbers(10), second = numbers(10, 100);
  Ints got_first(10), got_second(10);
  must_post_message(ranks, 0, send_of(first, 1, 1));
  must_post_message(ranks, 0, send_of(second, 1, 65));
  runtime::Run& b = must_post_message(ranks, 1, receive_of(got_second, 0, 65));
  runtime::Run& a = must_post_message(ranks, 1, receive_of(got_first, 0, 1));
  ASSERT_TRUE(ranks.sweep_until([&] { return a.finished && b.finished; }));
  EXPECT_EQ(got_first, first);
  EXPECT_EQ(got_second, second);
}

TEST(Messages, ARankSendsToItself) {
  Ranks ranks(3);
  const Ints data = numbers(100000);
  Ints got(100000);
  must_post_message(ranks, 2, send_of(data, 2));
  runtime::Run& receive = must_post_message(ranks, 2, receive_of(got, 2));
  ASSERT_TRUE(ranks.sweep_until([&] { return receive.finished; }));
  EXPECT_EQ(got, data);
}

TEST(Messages, AnEagerSendEndsBeforeAnyoneHasAskedForItAndItsBufferMayBeRewritten) {
  Ranks ranks(2);
  Ints data = numbers(1000), got(1000);
  runtime::Run& send = must_post_message(ranks, 0, send_of(data, 1));
  ASSERT_TRUE(ranks.sweep_until([&] { return send.finished; }));
  data.assign(1000, -1);
  runtime::Run& receive = must_post_message(ranks, 1, receive_of(got, 0));
  ASSERT_TRUE(ranks.sweep_until([&] { return receive.finished; }));
  EXPECT_EQ(got, numbers(1000));
}

TEST(Messages, ProbeTellsTheBytesOfTheNextMessageAndTakesNothing) {
  Ranks ranks(2);
  const Ints data = numbers(12);
  must_post_message(ranks, 0, send_of(data, 1, 3));
  ranks.sweep_until([] { return false; });
  EXPECT_EQ(*ranks.communicator(1).probe(0, 3), 48u);
  EXPECT_EQ(*ranks.communicator(1).probe(0, 3), 48u);
  EXPECT_EQ(*ranks.communicator(1).probe(0, 4), std::nullopt);
  Ints got(12);
  runtime::Run& receive = must_post_message(ranks, 1, receive_of(got, 0, 3));
  ASSERT_TRUE(ranks.sweep_until([&] { return receive.finished; }));
  EXPECT_EQ(got, data);
  EXPECT_EQ(*ranks.communicator(1).probe(0, 3), std::nullopt);
}

TEST(Messages, OneThatIsTooLongOrOfAnotherTypeEndsItsReceiveAloneAndTheNextOneFitsAgain) {
  for (bool late : {false, true}) {
    for (bool asks : {false, true}) {
      RanksOptions options{.network = {}, .executor = quick_executor()};
      if (asks) options.executor.eager_bytes = 0;
      Ranks ranks(2, options);
      const Ints data = numbers(30000), last = numbers(7);
      Ints small(29999, -1), other(30000, -1), got(7);
      Receive as_floats = receive_of(other, 0);
      as_floats.dtype = Dtype::F32;
      std::vector<runtime::Run*> receives, sends;
      const auto post_receives = [&] {
        for (const Receive& receive : {receive_of(small, 0), as_floats, receive_of(got, 0)}) {
          receives.push_back(&must_post_message(ranks, 1, receive));
        }
      };
      if (!late) post_receives();
      for (const Ints* what : {&data, &data, &last}) sends.push_back(&must_post_message(ranks, 0, send_of(*what, 1)));
      if (late) {
        ranks.sweep_until([] { return false; });
        post_receives();
      }
      ASSERT_TRUE(ranks.sweep_until([&] {
        return std::all_of(receives.begin(), receives.end(), [](auto* run) { return run->finished; }) &&
               std::all_of(sends.begin(), sends.end(), [](auto* run) { return run->finished; });
      }));
      EXPECT_EQ(receives[0]->status.code(), Code::Mismatch);
      EXPECT_TRUE(says(receives[0]->status, "has 30000 elements of i32; the receive takes at most 29999 of i32"));
      EXPECT_EQ(receives[1]->status.code(), Code::Mismatch);
      EXPECT_TRUE(says(receives[1]->status, "the receive takes at most 30000 of f32"));
      EXPECT_TRUE(receives[2]->status);
      EXPECT_EQ(got, last);
      EXPECT_EQ(small, Ints(29999, -1));
      EXPECT_EQ(other, Ints(30000, -1));
      EXPECT_TRUE(ranks.communicator(0).status() && ranks.communicator(1).status());
    }
  }
}

TEST(Messages, AReceiveThatNoMessageMeetsEndsAtItsDeadlineAndNothingElseFails) {
  Ranks ranks(2);
  Ints got(4);
  Receive receive = receive_of(got, 0, 9);
  receive.options.deadline = 50ms;
  runtime::Run& late = must_post_message(ranks, 1, receive);
  ASSERT_TRUE(ranks.sweep_for(30s, [&] { return late.finished; }));
  EXPECT_EQ(late.status.code(), Code::TimedOut);
  EXPECT_TRUE(says(late.status, "receive from rank 0 with tag 9: no message has come")) << late.status.to_string();
  const Ints data = numbers(4);
  must_post_message(ranks, 0, send_of(data, 1, 9));
  runtime::Run& again = must_post_message(ranks, 1, receive_of(got, 0, 9));
  ASSERT_TRUE(ranks.sweep_until([&] { return again.finished; }));
  EXPECT_TRUE(again.status);
  EXPECT_EQ(got, data);
}

TEST(Messages, ASendThatNobodyTakesUntilItsDeadlineFailsTheCommunicator) {
  RanksOptions options{.network = {}, .executor = quick_executor()};
  options.executor.eager_bytes = 0;
  Ranks ranks(2, options);
  const Ints data = numbers(1000);
  Send send = send_of(data, 1, 2);
  send.options.deadline = 50ms;
  runtime::Run& late = must_post_message(ranks, 0, send);
  ASSERT_TRUE(ranks.sweep_for(30s, [&] { return late.finished; }));
  EXPECT_EQ(late.status.code(), Code::TimedOut);
  EXPECT_TRUE(says(late.status, "send of 4000 bytes to rank 1 with tag 2: rank 1 has not taken it"));
  EXPECT_EQ(ranks.communicator(0).status().to_string(), late.status.to_string());
  EXPECT_EQ(ranks.communicator(0).probe(1, 2).status().to_string(), late.status.to_string());
}

TEST(Messages, WhatCanNotWorkIsRefusedWithWhatWasGivenAndWhatIsAllowed) {
  Ranks ranks(2);
  Ints data(4);
  const auto refusal = [&](const auto& side) { return ranks.communicator(0).post(side).status().to_string(); };
  EXPECT_EQ(refusal(send_of(data, 2)), "invalid argument: send to rank 2, must be 0 .. 1");
  EXPECT_EQ(refusal(receive_of(data, -1)), "invalid argument: receive from rank -1, must be 0 .. 1");
  EXPECT_EQ(refusal(send_of(data, 1, -7)), "invalid argument: tag is -7, must be 0 .. 2147483647");
  EXPECT_EQ(refusal(Receive{.data = nullptr, .count = 3, .from = 1}),
            "invalid argument: receive of 3 elements: the buffer is null");
  EXPECT_EQ(ranks.communicator(0).probe(2, 0).status().to_string(),
            "invalid argument: probe of rank 2, must be 0 .. 1");
  EXPECT_EQ(ranks.communicator(0).probe(1, -1).status().to_string(),
            "invalid argument: tag is -1, must be 0 .. 2147483647");
  Send on_device = send_of(data, 1);
  on_device.memory.kind = MemoryKind::Cuda;
  EXPECT_EQ(ranks.communicator(0).post(on_device).status().code(), Code::Unsupported);
}

TEST(Messages, MoreThanTheLimitInFlightAnswersBusyAndNothingIsLost) {
  RanksOptions options{.network = {}, .executor = quick_executor()};
  options.executor.max_messages = 3;
  Ranks ranks(2, options);
  std::vector<Ints> got(4, Ints(1));
  std::vector<runtime::Run*> receives;
  for (std::size_t i = 0; i < 3; ++i) receives.push_back(&must_post_message(ranks, 1, receive_of(got[i], 0)));
  const Status busy = ranks.communicator(1).post(receive_of(got[3], 0)).status();
  EXPECT_EQ(busy.code(), Code::Busy);
  EXPECT_TRUE(says(busy, "unfinished messages: 3; at most 3 are allowed (LACUNA_MAX_MESSAGES)"));
  for (std::int32_t i = 0; i < 3; ++i) {
    const Ints data = {i};
    runtime::Run& send = must_post_message(ranks, 0, send_of(data, 1));
    ASSERT_TRUE(ranks.sweep_until([&] { return send.finished; }));
  }
  ASSERT_TRUE(ranks.sweep_until([&] { return receives[2]->finished; }));
  EXPECT_EQ(got, (std::vector<Ints>{{0}, {1}, {2}, {0}}));
}

/// Sends messages between all pairs, with drawn lengths, tags and orders. The messages of one pair with one tag stay in
/// order.
std::string storm(std::uint64_t seed) {
  constexpr Rank size = 3;
  RanksOptions options{.network = {.seed = seed, .eager_limit = 64}, .executor = quick_executor()};
  options.network.sends = seed % 2 ? InprocOptions::Sends::Referenced : InprocOptions::Sends::Copied;
  options.executor.eager_bytes = seed % 3 == 0 ? 0 : 1 << 20;
  options.executor.credit_bytes = seed % 5 == 0 ? 700 : 1 << 20;
  Ranks ranks(size, options);
  std::mt19937_64 random(seed);
  struct Side {
    Rank rank = 0, peer = 0;
    int tag = 0;
    Ints data;
    runtime::Run* run = nullptr;
  };
  std::array<std::deque<Side*>, 2 * size> queues;  // the sends and the receives of each rank
  std::vector<std::unique_ptr<Side>> sends, receives;
  for (int i = 0; i < 60; ++i) {
    const auto from = static_cast<Rank>(random() % size), to = static_cast<Rank>(random() % size);
    const int tag = static_cast<int>(random() % 3) * 64;  // these tags share one stream
    sends.push_back(std::make_unique<Side>(Side{from, to, tag, numbers(random() % 80, i * 1000)}));
    receives.push_back(std::make_unique<Side>(Side{to, from, tag, Ints(80, -1)}));
    queues[static_cast<std::size_t>(from)].push_back(sends.back().get());
    queues[static_cast<std::size_t>(size + to)].push_back(receives.back().get());
  }
  std::size_t left = 120;
  while (left > 0) {
    if (random() % 3 == 0) ranks.sweep();
    const std::size_t turn = random() % queues.size();
    if (queues[turn].empty()) continue;
    Side& side = *queues[turn].front();
    queues[turn].pop_front();
    --left;
    side.run = turn < size ? &must_post_message(ranks, side.rank, send_of(side.data, side.peer, side.tag))
                           : &must_post_message(ranks, side.rank, receive_of(side.data, side.peer, side.tag));
  }
  const auto ended = [](const auto& side) { return side->run->finished; };
  if (!ranks.sweep_until([&] {
        return std::all_of(sends.begin(), sends.end(), ended) && std::all_of(receives.begin(), receives.end(), ended);
      })) {
    return "nothing moves any more";
  }
  for (std::size_t i = 0; i < sends.size(); ++i) {
    const Ints& sent = sends[i]->data;
    if (ranks.communicator(receives[i]->rank).received(*receives[i]->run) != 4 * sent.size()) return "wrong length";
    if (!std::equal(sent.begin(), sent.end(), receives[i]->data.begin())) return "wrong bytes";
  }
  return "";
}

TEST(Messages, UnderAThousandDrawnOrdersEveryReceiveGetsItsMessage) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) ASSERT_EQ(storm(seed), "") << "seed " << seed;
}

TEST(Messages, MemoryForUnexpectedOnesStaysUnderItsBoundWhenARankRunsTenThousandAhead) {
  RanksOptions options{.network = {}, .executor = quick_executor()};
  options.executor.credit_bytes = 1 << 20;
  Ranks ranks(2, options);
  const Ints data = numbers(4000);
  const std::size_t before = ::mallinfo2().uordblks;
  for (int i = 0; i < 10000; ++i) {
    must_post_message(ranks, 0, send_of(data, 1, i));
    ranks.sweep();
  }
  ranks.sweep_until([] { return false; });
  EXPECT_LE(ranks.executor(1).job_counters().parked_bytes, options.executor.credit_bytes);
  // This is twice the credit, because blocks are powers of two, and what both sides hold for a message that waits.
  const std::size_t bound = 2 * options.executor.credit_bytes + 10000 * 2048;
  EXPECT_LT(::mallinfo2().uordblks - before, bound);
  Ints got(4000);
  for (int i = 9999; i >= 0; --i) {
    runtime::Run& receive = must_post_message(ranks, 1, receive_of(got, 0, i));
    ASSERT_TRUE(ranks.sweep_until([&] { return receive.finished; }));
    ASSERT_EQ(got, data);
    ranks.communicator(1).release(receive);
  }
}

}  // namespace
}  // namespace lacuna::test
