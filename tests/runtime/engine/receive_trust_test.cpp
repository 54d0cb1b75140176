#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "tests/runtime/engine/receive_calls.hpp"

namespace lacuna::test {
namespace {

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
    sum.arrive(1024, 1200);  // the call of this message has ended
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
    expect_refused(sum.rank, "no such place in that message");
  }
}

TEST(ReceiveTrust, FragmentsOfOneMessageThatDifferInItsLengthAreAViolation) {
  for (const Way& way : ways) {
    Reduction300 sum(way);
    sum.arrive(0, 512);
    sum.header.bytes = 1264;
    sum.arrive(512, 1264);
    sum.meet();
    expect_refused(sum.rank, way.early ? "a message of 1200 bytes" : "316 elements of f32 where rank 0 expects 300");
  }
}

TEST(ReceiveTrust, AMessageThatIsShorterOrLongerThanItsStepExpectsIsAViolation) {
  for (const Way& way : ways) {
    for (const std::size_t bytes : {64, 1136, 1264}) {
      Reduction300 sum(way);
      sum.header.bytes = bytes;
      sum.arrive(0, bytes);
      sum.meet();
      expect_refused(sum.rank, fmt::format("{} elements of f32 where rank 0 expects 300", bytes / 4));
    }
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
    rank.arrive(zero, theirs, 512, 1200, way.delivery);  // this belongs to a message that has ended
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

}  // namespace
}  // namespace lacuna::test
