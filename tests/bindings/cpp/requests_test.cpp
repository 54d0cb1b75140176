#include <gtest/gtest.h>

#include <type_traits>

#include "tests/bindings/cpp/facade_ranks.hpp"

namespace lacuna {
namespace {

using namespace std::chrono_literals;
using namespace test;

using Floats = std::vector<float>;

template <class T>
concept Starts = requires(T& request) {
  request.start();
};
template <class T>
concept Receives = requires(const T& request) {
  request.received_bytes();
};
template <class T>
concept Reports = requires(const T& request) {
  request.report();
};
template <class T>
concept HasGaps = requires(const T& request) {
  request.gaps(0);
};

template <class T>
constexpr bool is_only_moved =
    !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T> && std::is_nothrow_default_constructible_v<T> &&
    std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T> && std::is_nothrow_swappable_v<T>;
static_assert(is_only_moved<Request> && is_only_moved<ReceiveRequest>);
static_assert(is_only_moved<CallRequest> && is_only_moved<PreparedCall>);

// Each kind has what makes sense for it, and no more.
static_assert(!Starts<Request> && !Receives<Request> && !Reports<Request> && !HasGaps<Request>);
static_assert(!Starts<ReceiveRequest> && Receives<ReceiveRequest>);
static_assert(!Reports<ReceiveRequest> && !HasGaps<ReceiveRequest>);
static_assert(!Starts<CallRequest> && !Receives<CallRequest> && Reports<CallRequest> && HasGaps<CallRequest>);
static_assert(Starts<PreparedCall> && !Receives<PreparedCall> && Reports<PreparedCall> && HasGaps<PreparedCall>);

// Each becomes a Request, and no Request becomes one of them.
static_assert(std::is_nothrow_convertible_v<ReceiveRequest, Request>);
static_assert(std::is_nothrow_convertible_v<CallRequest, Request>);
static_assert(std::is_nothrow_convertible_v<PreparedCall, Request>);
static_assert(!std::is_constructible_v<ReceiveRequest, Request> && !std::is_assignable_v<ReceiveRequest&, Request>);
static_assert(!std::is_constructible_v<CallRequest, Request> && !std::is_assignable_v<CallRequest&, Request>);
static_assert(!std::is_constructible_v<PreparedCall, CallRequest> && !std::is_assignable_v<PreparedCall&, CallRequest>);

class Requests : public testing::TestWithParam<Progress> {};
INSTANTIATE_TEST_SUITE_P(, Requests, testing::Values(Progress::Caller, Progress::Thread),
                         [](const auto& given) { return std::string(to_string(given.param)); });

TEST_P(Requests, AReceiveTellsItsBytesOnceItHasEndedWell) {
  auto ranks = local(2, GetParam());
  Floats room(10, -1);
  const Floats three(3, 7);
  auto receive = ranks[1].start_receive<float>(room, 0);
  ASSERT_TRUE(receive);
  EXPECT_EQ(receive->received_bytes(), 0u) << "nothing has been sent";
  auto send = ranks[0].start_send<float>(three, 1);
  ASSERT_TRUE(send);
  const auto until = Clock::now() + 20s;
  while (!(receive->test() && send->test()) && Clock::now() < until) continue;
  EXPECT_EQ(receive->wait().to_string(), "ok");
  EXPECT_EQ(receive->received_bytes(), 12u);
  EXPECT_EQ(room, (Floats{7, 7, 7, -1, -1, -1, -1, -1, -1, -1}));
  const ReceiveRequest moved = *std::move(receive);
  EXPECT_EQ(moved.received_bytes(), 12u);
  EXPECT_EQ(receive->received_bytes(), 0u) << "it is empty";
}

TEST_P(Requests, AReceiveThatFailsHasNoBytes) {
  auto ranks = local(2, GetParam());
  Floats room(10);
  auto receive = ranks[1].start(Receive{.data = room.data(), .count = 10, .from = 0, .options = {.deadline = 50ms}});
  ASSERT_TRUE(receive);
  EXPECT_EQ(receive->wait().code(), Code::TimedOut);
  EXPECT_EQ(receive->received_bytes(), 0u);
}

TEST_P(Requests, AnAssignmentWaitsForWhatWasHeldBefore) {
  auto ranks = local(2, GetParam());
  Floats a(100000, 1), b(100000, 1);
  std::thread later([&] {
    std::this_thread::sleep_for(50ms);
    EXPECT_TRUE(ranks[1].call(allreduce<float>(b, b)));
  });
  CallRequest held = *ranks[0].start(allreduce<float>(a, a));
  CallRequest other;
  held = std::move(other);
  EXPECT_EQ(a, Floats(100000, 2));
  EXPECT_TRUE(held.test() && other.test());
  later.join();
}

TEST_P(Requests, AWaitOfLessThanAMillisecondDoesNotTakeOne) {
  auto ranks = local(2, GetParam());
  Floats data(1), other(1);
  CallRequest request = *ranks[0].start(allreduce<float>(data, data));
  Clock::duration shortest = 1s;
  for (int round = 0; round < 1000 && shortest >= 1ms; ++round) {  // others may hold the processor now and then
    const auto begin = Clock::now();
    EXPECT_EQ(request.wait(400us).code(), Code::TimedOut);
    shortest = std::min<Clock::duration>(shortest, Clock::now() - begin);
  }
  EXPECT_LT(shortest, 1ms);
  EXPECT_TRUE(ranks[1].call(allreduce<float>(other, other)));
}

TEST_P(Requests, ARequestThatIsAssignedToItselfGoesOn) {
  auto ranks = local(2, GetParam());
  Floats a(100, 1), b(100, 1);
  std::vector<Request> requests;
  requests.push_back(*ranks[0].start(allreduce<float>(a, a)));
  Request& same = requests[0];
  requests[0] = std::move(same);
  EXPECT_FALSE(same.test());
  requests.push_back(*ranks[1].start(allreduce<float>(b, b)));
  finish(requests);
  EXPECT_EQ(a, Floats(100, 2));
}

TEST_P(Requests, EachKindRefusesAnotherThatComesThroughAReference) {
  auto ranks = local(1, GetParam());
  Floats data(3, 1);
  PreparedCall prepared;
  ReceiveRequest received;
  {
    Request &one = prepared, &two = received;
    one = *ranks[0].start_receive<float>(data, 0);
    two = *ranks[0].start(barrier());
    ASSERT_TRUE(ranks[0].send<float>(std::span<const float>(data), 0));
    ASSERT_TRUE(one.wait() && two.wait());
  }
  expect_error(prepared.start(), Code::InvalidArgument, "only a call that was prepared");
  expect_error(prepared.gaps(0).status(), Code::InvalidArgument, "only the request of a collective has gaps");
  EXPECT_EQ(prepared.report().method, nullptr);
  EXPECT_EQ(received.received_bytes(), 0u);
}

}  // namespace
}  // namespace lacuna
