#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "runtime/values/count_of.hpp"
#include "tests/runtime/engine/receive_calls.hpp"

// What a header says, and what waits here for a call, is accepted only within bounds.
namespace lacuna::test {
namespace {

/// One header field that no honest rank sends, and what the refusal says.
struct Lie {
  void (*tell)(MessageHeader&);
  const char* text;
};

TEST(ReceiveTrust, HeadersWithFieldsOutOfTheirBoundsAreRefusedAndNothingIsParked) {
  const Lie lies[] = {
      {[](MessageHeader& header) { header.kind = static_cast<MessageKind>(4); }, "no kind 4"},
      {[](MessageHeader& header) { header.kind = static_cast<MessageKind>(255); }, "no kind 255"},
      {[](MessageHeader& header) { header.dtype = static_cast<Dtype>(all_dtypes.size()); }, "no element type"},
      {[](MessageHeader& header) { header.run = 1u << 31; }, "calls ahead"},
      {[](MessageHeader& header) { header.run = (1u << 24) + 2; }, "calls ahead"},
      {[](MessageHeader& header) { header.part = 1; }, "1 part"},
      {[](MessageHeader& header) { header.part = 65536; }, "1 part"},
      {[](MessageHeader& header) { header.part = std::numeric_limits<std::uint32_t>::max(); }, "1 part"},
      {[](MessageHeader& header) { header.index = 1; }, "no step that receives it"},
      {[](MessageHeader& header) { header.offset = 8; }, "no such place in that message"},
      {[](MessageHeader& header) { header.bytes = std::uint64_t{1} << 60; }, "no such place in that message"},
      {[](MessageHeader& header) { header.bytes = 0; }, "no such place in that message"},
      {[](MessageHeader& header) { header.offset = (std::uint64_t{1} << 48) - 64; }, "no such place in that message"},
  };
  for (const Lie& lie : lies) {
    for (const Delivery delivery : {Delivery::Eager, Delivery::Descriptor}) {
      Reduction300 sum({});
      lie.tell(sum.header);
      sum.rank.wire.arrive(1, sum.header, std::as_bytes(std::span(sum.theirs)).first(1200), delivery);
      sum.rank.progress();
      expect_refused(sum.rank, lie.text);
      EXPECT_EQ(sum.rank.executor.job_counters().parked_bytes, 0u) << lie.text;
      EXPECT_EQ(sum.rank.wire.offered, 0u) << lie.text;
    }
  }
}

TEST(ReceiveTrust, AFragmentWithoutBytesOfAMessageThatHasSomeIsRefused) {
  Reduction300 sum({});
  sum.arrive(0, 0);
  expect_refused(sum.rank, "no such place in that message");
}

TEST(ReceiveTrust, AnEagerMessageForACallToComeIsParkedUpToTheCreditThatWasGranted) {
  for (const bool beyond : {false, true}) {
    runtime::ExecutorOptions options = quick_executor();
    options.credit_bytes = 4096;
    LoneRank rank(2, options);
    const std::size_t bytes = options.credit_bytes - runtime::fragment_charge + (beyond ? 64 : 0);
    const Floats theirs(bytes / 4, 5);
    rank.arrive({.communicator = LoneRank::id, .bytes = bytes, .run = 3}, theirs, 0, 64);
    if (beyond) {
      expect_refused(rank, "a credit of 4096 bytes");
      EXPECT_EQ(rank.executor.job_counters().parked_bytes, 0u);
    } else {
      EXPECT_TRUE(rank.communicator.status()) << rank.communicator.status().to_string();
      EXPECT_EQ(rank.executor.job_counters().parked_bytes, bytes);
    }
  }
}

TEST(ReceiveTrust, NoLengthIsAllocatedThatAHeaderMerelyClaims) {
  for (const MessageHeader& header :
       {MessageHeader{.communicator = LoneRank::id, .bytes = std::uint64_t{1} << 60, .run = 3},
        LoneRank::message(0, 0, std::uint64_t{1} << 60)}) {
    LoneRank rank;
    rank.arrive(header, Floats(16, 5), 0, 64);
    expect_refused(rank, "a credit of");
  }
}

TEST(ReceiveTrust, WhatOneRankHasParkedStaysUnderItsBoundWhateverItSends) {
  runtime::ExecutorOptions options = quick_executor();
  options.credit_bytes = 65536;
  for (const std::size_t bytes : {0, 64, 32768}) {
    LoneRank rank(2, options);
    const Floats theirs(16, 5);
    std::uint32_t number = 0;
    for (; number < 100'000 && rank.communicator.status(); ++number) {
      rank.arrive(LoneRank::message(0, number, bytes), theirs, 0, std::min<std::size_t>(bytes, 64));
    }
    expect_refused(rank, "a credit of 65536 bytes");
    const std::uint64_t bound = options.credit_bytes + (bytes > 0 ? 0 : runtime::empty_allowance);
    EXPECT_LE((number - 1) * (bytes + runtime::fragment_charge), bound);
    EXPECT_GE(number * (bytes + runtime::fragment_charge), bound);
  }
}

TEST(ReceiveTrust, AnEarlyMessageForAPartThatItsCallDoesNotHaveIsRefusedWhenTheCallIsPosted) {
  Reduction300 sum({.early = true});
  sum.header.part = 5;
  sum.arrive(0, 1200);
  EXPECT_TRUE(sum.rank.communicator.status());
  sum.meet();
  expect_refused(sum.rank, "1 part");
}

TEST(ReceiveTrust, AnEarlyMessageOfAnotherTypeAndEqualBytesIsAMismatchWhenItsCallIsPosted) {
  Ranks ranks(2);
  Floats data(10, 1), received(10);
  must_post(ranks, 0, broadcast_call(data, 0));
  ranks.sweep_until([] { return false; });
  Call late = broadcast_call(received, 0);
  late.dtype = Dtype::I32;
  const runtime::Run& run = must_post(ranks, 1, late);
  ranks.sweep_until([] { return false; });
  EXPECT_TRUE(run.finished);
  EXPECT_EQ(run.status.code(), Code::Mismatch);
  EXPECT_TRUE(says(run.status, "asked for something else than rank")) << run.status.to_string();
  EXPECT_EQ(received, Floats(10));
}

// One element on three ranks: two of the ring's pieces are empty. Only the first message of a call is sent although it
// is empty.
TEST(ReceiveTrust, AnEmptyMessageForAStepThatWaitsForNoneIsAViolation) {
  for (const Delivery delivery : {Delivery::Eager, Delivery::Descriptor}) {
    LoneRank rank(3);
    const Floats input(1, 1);
    Floats output(1);
    Call call{.collective = Collective::Allreduce, .input = input.data(), .output = output.data(), .count = 1};
    call.options.algorithm = "ring";
    const runtime::Run& run = must_post(rank.communicator, call);
    MessageHeader header = rank.header_of(0, 0);
    header.index = 1;
    rank.wire.arrive(2, header, {}, delivery);
    rank.progress();
    EXPECT_TRUE(run.finished);
    EXPECT_EQ(run.status.code(), Code::Mismatch) << run.status.to_string();
    EXPECT_TRUE(says(run.status, "rank 2 sent message 1 ")) << run.status.to_string();
    EXPECT_EQ(rank.wire.offered, 0u);
  }
}

TEST(ReceiveTrust, ALongMessageMayWaitForItsReceiveHoweverFewThereMayBe) {
  runtime::ExecutorOptions options = quick_executor();
  options.max_runs = options.max_messages = 1;
  LoneRank rank(2, options);
  MessageHeader header = LoneRank::message(0, 0, std::size_t{1} << 30);
  const std::vector<std::byte> range(64);
  const auto offer = [&] {
    rank.wire.arrive(1, header, range, Delivery::Descriptor);
    header.begin_at(header.offset + range.size());
    rank.progress();
  };
  while (header.offset < 200'000 * range.size()) offer();
  EXPECT_TRUE(rank.communicator.status()) << rank.communicator.status().to_string();
  for (std::size_t more = 0; more < 1'000'000 && rank.communicator.status(); ++more) offer();
  expect_refused(rank, "messages waiting from that rank already");
  EXPECT_EQ(rank.wire.offered, 0u);
}

TEST(ReceiveTrust, AHeaderOfAnotherSizeBreaksTheConnectionAndTheCallEndsWithItsSendersName) {
  for (const std::size_t size : {0, 1, 47}) {
    LoneRank rank;
    const Floats input(300, 1);
    Floats output(300);
    const runtime::Run& run = must_post(rank.communicator, reduce_call(input, output));
    rank.wire.arrive(1, std::vector<std::byte>(size), {});
    const auto until = runtime::Clock::now() + std::chrono::seconds(20);
    while (!run.finished && runtime::Clock::now() < until) rank.executor.progress();
    ASSERT_TRUE(run.finished);
    EXPECT_TRUE(says(run.status, fmt::format("rank 1 sent a header of {}", count_of(size, "byte"))))
        << run.status.to_string();
  }
}

TEST(ReceiveTrust, MoreCreditThanWasSpentBreaksTheConnection) {
  for (const MessageKind kind : {MessageKind::Credit, MessageKind::Step}) {
    LoneRank rank;
    const Floats input(300, 1), theirs(300, 10);
    Floats outputs[2] = {Floats(300), Floats(300)};
    must_post(rank.communicator, reduce_call(input, outputs[0]));
    const runtime::Run& run = must_post(rank.communicator, reduce_call(input, outputs[1]));
    MessageHeader header = rank.header_of(0, 1200);
    header.credits = 1;
    header.kind = kind;
    kind == MessageKind::Credit ? rank.arrive(header, theirs, 0, 0) : rank.arrive(header, theirs, 0, 1200);
    const auto until = runtime::Clock::now() + std::chrono::seconds(20);
    while (!run.finished && runtime::Clock::now() < until) rank.executor.progress();
    ASSERT_TRUE(run.finished);
    EXPECT_TRUE(says(run.status, "rank 1 returned 1 byte of credit, more than the ")) << run.status.to_string();
  }
}

TEST(ReceiveTrust, NoMoreThanTheWindowIsFetchedFromAPeerAtATime) {
  constexpr std::size_t ranges = 12;
  runtime::ExecutorOptions options = quick_executor();
  options.window_bytes = 3 * runtime::descriptor_range;
  LoneRank rank(2, options);
  rank.wire.fetches_wait = true;
  const Floats theirs(ranges * runtime::descriptor_range / 4, 5);
  Floats got(theirs.size());
  const runtime::Run& run = must_receive(rank, got);
  MessageHeader header = LoneRank::message(0, 0, 4 * theirs.size());
  for (std::size_t i = 0; i < ranges; ++i) {
    header.begin_at(i * runtime::descriptor_range);
    rank.wire.arrive(1, header, std::as_bytes(std::span(theirs)).subspan(header.offset, runtime::descriptor_range),
                     Delivery::Descriptor);
  }
  rank.progress();
  EXPECT_TRUE(run.finished);
  EXPECT_EQ(got, theirs);
  EXPECT_EQ(rank.wire.fetched_at_once, options.window_bytes);
}

}  // namespace
}  // namespace lacuna::test
