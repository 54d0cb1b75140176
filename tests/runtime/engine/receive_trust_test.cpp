#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "tests/support/lone_rank.hpp"

namespace lacuna::test {
namespace {

using Floats = std::vector<float>;
using runtime::MessageHeader;
using runtime::MessageKind;

bool says(const Status& status, const std::string& text) { return status.message().find(text) != std::string::npos; }

Call reduce_call(const Floats& input, Floats& output) {
  Call call;
  call.collective = Collective::Reduce;
  call.input = input.data();
  call.output = output.data();
  call.count = input.size();
  return call;
}

Receive receive_of(Floats& data, int tag = 0) {
  return {.data = data.data(), .count = data.size(), .dtype = Dtype::F32, .from = 1, .tag = tag};
}

runtime::Run& must_receive(LoneRank& rank, Floats& data, int tag = 0) {
  auto posted = rank.communicator.post(receive_of(data, tag));
  EXPECT_TRUE(posted) << posted.status().to_string();
  return **posted;
}

void expect_refused(LoneRank& rank, const std::string& text) {
  const Status status = rank.communicator.status();
  EXPECT_EQ(status.code(), Code::Mismatch) << status.to_string();
  EXPECT_TRUE(says(status, "rank 1 sent")) << status.to_string();
  EXPECT_TRUE(says(status, text)) << status.to_string() << "\nlacks: " << text;
}

/// How the message of 1200 bytes meets its receive: before the call is posted, or after; eagerly or as descriptors.
struct Way {
  bool early = false;
  Delivery delivery = Delivery::Eager;
};
constexpr Way ways[] = {
    {false, Delivery::Eager}, {true, Delivery::Eager}, {false, Delivery::Descriptor}, {true, Delivery::Descriptor}};

/// A reduce of 300 elements at rank 0, to which rank 1 sends what `script` says.
struct Reduction300 {
  explicit Reduction300(const Way& way) : way_(way) {
    rank.wire.fetches_wait = true;
    if (!way.early) {
      post();
      return;
    }
    LoneRank other;  // what the call's digest will be
    Floats unused(300);
    must_post(other.communicator, reduce_call(input, unused));
    header = other.header_of(0, 1200);
  }

  void post() {
    run = &must_post(rank.communicator, reduce_call(input, output));
    header = rank.header_of(0, 1200);
  }
  void arrive(std::size_t begin, std::size_t end) { rank.arrive(header, theirs, begin, end, way_.delivery); }
  void meet() {
    if (!run && rank.communicator.status()) post();
    rank.progress();
  }

  LoneRank rank;
  const Floats input = Floats(300, 1), theirs = Floats(400, 10);
  Floats output = Floats(300, 0);
  MessageHeader header;
  runtime::Run* run = nullptr;

 private:
  const Way way_;
};

TEST(ReceiveTrust, AFragmentThatComesTwiceIsDroppedAndCountedAndTheSumIsRight) {
  for (const Way& way : ways) {
    Reduction300 sum(way);
    for (const auto& [begin, end] : {std::pair(0, 512), {0, 512}, {512, 1024}}) {
      sum.arrive(static_cast<std::size_t>(begin), static_cast<std::size_t>(end));
    }
    sum.meet();
    ASSERT_FALSE(sum.run->finished) << "with 176 bytes missing";
    sum.arrive(0, 512);
    ASSERT_FALSE(sum.run->finished) << "with 176 bytes missing";
    sum.arrive(1024, 1200);
    EXPECT_TRUE(sum.run->finished && sum.run->status) << sum.run->status.to_string();
    EXPECT_EQ(sum.output, Floats(300, 11));
    EXPECT_EQ(sum.rank.duplicates(), 2u);
    sum.arrive(1024, 1200);  // its call has ended
    EXPECT_TRUE(sum.rank.communicator.status()) << sum.rank.communicator.status().to_string();
    EXPECT_EQ(sum.rank.duplicates(), 3u);
    EXPECT_EQ(sum.rank.wire.offered, 0u);
  }
}

TEST(ReceiveTrust, AFragmentThatOverlapsWhatHasComeIsAViolationThatNamesItsSender) {
  for (const Way& way : ways) {
    Reduction300 sum(way);
    sum.arrive(0, 512);
    sum.arrive(448, 1024);
    sum.meet();
    expect_refused(sum.rank, "some of these bytes");
    EXPECT_TRUE(sum.run == nullptr || !sum.run->status);
  }
}

TEST(ReceiveTrust, AFragmentBeyondItsMessageIsAViolation) {
  for (const Way& way : ways) {
    Reduction300 sum(way);
    sum.arrive(1152, 1280);
    expect_refused(sum.rank, "no such place in it");
  }
}

TEST(ReceiveTrust, FragmentsOfOneMessageThatDifferInItsLengthAreAViolation) {
  for (const Way& way : ways) {
    Reduction300 sum(way);
    sum.arrive(0, 512);
    sum.header.bytes = 1264;
    sum.arrive(512, 1264);
    sum.meet();
    expect_refused(sum.rank, "1200 bytes");
  }
}

TEST(ReceiveTrust, AMessageInPiecesOfAnyOrderIsTakenWhole) {
  for (const Way& way : ways) {
    Reduction300 sum(way);
    for (const std::size_t begin : {640, 128, 1152, 0, 256, 896, 1024, 384, 768, 512}) {
      sum.arrive(begin, std::min<std::size_t>(begin + 128, 1200));
    }
    sum.meet();
    EXPECT_TRUE(sum.run->finished && sum.run->status);
    EXPECT_EQ(sum.output, Floats(300, 11));
    EXPECT_EQ(sum.rank.duplicates(), 0u);
  }
}

TEST(ReceiveTrust, APartOfAMessageThatIsSentEagerlyWhileTheRestWaitsIsAViolation) {
  for (const Delivery first : {Delivery::Eager, Delivery::Descriptor}) {
    Reduction300 sum({.early = true, .delivery = first});
    sum.arrive(0, 512);
    sum.rank.arrive(sum.header, sum.theirs, 512, 1200,
                    first == Delivery::Eager ? Delivery::Descriptor : Delivery::Eager);
    expect_refused(sum.rank, "in another way");
  }
}

TEST(ReceiveTrust, AnotherMessageForACallThatHasEndedIsADuplicateOnlyIfItAskedForTheSame) {
  Reduction300 sum({});
  sum.arrive(0, 1200);
  ASSERT_TRUE(sum.run->finished);
  sum.header.digest ^= 1;
  sum.arrive(0, 1200);
  EXPECT_EQ(sum.rank.communicator.status().code(), Code::Mismatch);
  EXPECT_EQ(sum.rank.duplicates(), 0u);
}

TEST(ReceiveTrust, APointToPointFragmentThatComesTwiceIsDroppedAndCounted) {
  for (const Way& way : ways) {
    LoneRank rank;
    rank.wire.fetches_wait = true;
    Floats theirs(300, 5), first(300, 0), second(300, 0);
    runtime::Run* receive = way.early ? nullptr : &must_receive(rank, first);
    const MessageHeader zero = LoneRank::message(0, 0, 1200), one = LoneRank::message(0, 1, 1200);
    rank.arrive(zero, theirs, 0, 512, way.delivery);
    rank.arrive(zero, theirs, 0, 512, way.delivery);
    if (!receive) receive = &must_receive(rank, first);
    rank.progress();
    rank.arrive(zero, theirs, 0, 512, way.delivery);
    ASSERT_FALSE(receive->finished);
    rank.arrive(zero, theirs, 512, 1200, way.delivery);
    EXPECT_TRUE(receive->finished && receive->status);
    EXPECT_EQ(first, theirs);
    rank.arrive(zero, theirs, 512, 1200, way.delivery);  // of a message that has ended
    EXPECT_EQ(rank.duplicates(), 3u);
    runtime::Run& next = must_receive(rank, second);
    rank.progress();
    EXPECT_FALSE(next.finished);
    rank.arrive(one, theirs, 0, 1200, way.delivery);
    EXPECT_TRUE(next.finished && next.status);
    EXPECT_EQ(second, theirs);
    EXPECT_EQ(rank.wire.offered, 0u);
  }
}

TEST(ReceiveTrust, AMessageThatHasOvertakenOthersAndComesTwiceIsTakenOnce) {
  LoneRank rank;
  const Floats theirs(4, 5);
  Floats got[3] = {Floats(4), Floats(4), Floats(4)};
  for (const std::uint32_t number : {1, 1, 0, 1}) rank.arrive(LoneRank::message(0, number, 16), theirs, 0, 16);
  runtime::Run* runs[3];
  for (std::size_t i = 0; i < 3; ++i) runs[i] = &must_receive(rank, got[i]);
  EXPECT_TRUE(runs[0]->finished && runs[1]->finished);
  EXPECT_FALSE(runs[2]->finished);
  EXPECT_EQ(rank.duplicates(), 2u);
  rank.arrive(LoneRank::message(0, 2, 16), theirs, 0, 16);
  EXPECT_TRUE(runs[2]->finished);
}

TEST(ReceiveTrust, TheRestOfAMessageThatDoesNotFitIsDroppedWhateverComesTwice) {
  LoneRank rank;
  const Floats theirs(300, 5);
  Floats small(4), got(4);
  const runtime::Run& refused = must_receive(rank, small);
  for (const auto& [begin, end] : {std::pair(0, 512), {0, 512}, {0, 512}, {512, 1200}, {512, 1200}}) {
    rank.arrive(LoneRank::message(0, 0, 1200), theirs, static_cast<std::size_t>(begin), static_cast<std::size_t>(end));
  }
  EXPECT_EQ(refused.status.code(), Code::Mismatch);
  const runtime::Run& next = must_receive(rank, got);
  rank.arrive(LoneRank::message(0, 1, 16), theirs, 0, 16);
  EXPECT_TRUE(next.finished && next.status);
  EXPECT_TRUE(rank.communicator.status()) << rank.communicator.status().to_string();
  EXPECT_EQ(rank.duplicates(), 3u);
}

/// One header field that no honest rank sends, and what the refusal says.
struct Lie {
  void (*tell)(MessageHeader&);
  const char* text;
};

TEST(ReceiveTrust, HeadersWithFieldsOutOfTheirBoundsAreRefusedAndNothingIsParked) {
  const Lie lies[] = {
      {[](MessageHeader& header) { header.kind = static_cast<MessageKind>(3); }, "no kind 3"},
      {[](MessageHeader& header) { header.kind = static_cast<MessageKind>(255); }, "no kind 255"},
      {[](MessageHeader& header) { header.dtype = static_cast<Dtype>(7); }, "no element type 7"},
      {[](MessageHeader& header) { header.run = 1u << 31; }, "calls ahead"},
      {[](MessageHeader& header) { header.run = (1u << 24) + 2; }, "calls ahead"},
      {[](MessageHeader& header) { header.part = 1; }, "1 part"},
      {[](MessageHeader& header) { header.part = 65535; }, "1 part"},
      {[](MessageHeader& header) { header.index = 1; }, "no step that receives it"},
      {[](MessageHeader& header) { header.offset = 8; }, "no such place in it"},
      {[](MessageHeader& header) { header.bytes = std::uint64_t{1} << 60; }, "no such place in it"},
      {[](MessageHeader& header) { header.bytes = 0; }, "no such place in it"},
      {[](MessageHeader& header) { header.offset = std::numeric_limits<std::uint64_t>::max() - 63; },
       "no such place in it"},
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
  expect_refused(sum.rank, "no such place in it");
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

// One element on three ranks: of the ring's pieces two are empty, and only the first message of a call is sent all the
// same.
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
    header.offset += range.size();
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
    EXPECT_TRUE(says(run.status, fmt::format("rank 1 sent a header of {} bytes", size))) << run.status.to_string();
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
    EXPECT_TRUE(says(run.status, "rank 1 returned 1 bytes of credit")) << run.status.to_string();
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
    header.offset = i * runtime::descriptor_range;
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
