#include "runtime/engine/matching.hpp"

#include <gtest/gtest.h>

#include "runtime/engine/run_table.hpp"

namespace lacuna::test {
namespace {

using runtime::Arrival;
using runtime::MessageHeader;
using runtime::MessageKind;
using runtime::Place;

constexpr std::uint32_t tag = 5;
constexpr std::size_t credit = 1024;

/// The Matching of process 0 of a job of two.
struct Matcher {
  /// Process 1 sends message `number` of its stream eagerly.
  Place message(std::uint32_t number, std::uint64_t bytes = 64) {
    const MessageHeader header{.bytes = bytes, .run = tag, .digest = number, .kind = MessageKind::Message};
    return matching.place({.from = 1, .header = header, .bytes = static_cast<std::size_t>(bytes), .eager = true});
  }
  runtime::MessageRun receive() {
    runtime::MessageRun run;
    run.kind = runtime::RunKind::Receive;
    run.peer = 1;
    run.tag = tag;
    run.call.count = 64;
    return run;
  }

  Group group{2};
  runtime::RunTable runs{0, 16, 16};
  runtime::Links links{2, credit};
  runtime::MemoryPools memory;
  std::vector<Descriptor> discards;
  runtime::Landings landings{{.credit_bytes = credit, .most_descriptors = 16}, links, memory, discards};
  runtime::Matching matching{group, 0, runs, landings};
};

TEST(Matching, AMessageWaitsInALandingUntilItsReceiveTakesIt) {
  Matcher here;
  const Place place = here.message(0);
  ASSERT_TRUE(place.landing);
  EXPECT_FALSE(place.receive);
  runtime::MessageRun receive = here.receive();
  EXPECT_EQ(here.matching.expect(receive), place.landing);
  EXPECT_TRUE(here.matching.hand_over({&receive, place.landing}));
  here.landings.release(place.landing);
  EXPECT_EQ(here.landings.in_use(), 0u);
}

TEST(Matching, AReceiveThatWaitsMeetsItsMessageWhichNeedsNoLanding) {
  Matcher here;
  runtime::MessageRun receive = here.receive();
  EXPECT_FALSE(here.matching.expect(receive));
  const Place place = here.message(0);
  EXPECT_EQ(place.receive, &receive);
  EXPECT_FALSE(place.landing);
  EXPECT_EQ(here.landings.in_use(), 0u);
}

TEST(Matching, AMessageThatHasOvertakenAnotherMeetsItsReceiveAfterIt) {
  Matcher here;
  runtime::MessageRun first = here.receive(), second = here.receive();
  here.matching.expect(first);
  here.matching.expect(second);
  const Place ahead = here.message(1);
  EXPECT_FALSE(ahead.receive);
  EXPECT_FALSE(here.matching.next_met(1, tag));
  const Place next = here.message(0);
  EXPECT_EQ(next.receive, &first);
  EXPECT_TRUE(next.in_turn);
  const auto met = here.matching.next_met(1, tag);
  ASSERT_TRUE(met);
  EXPECT_EQ(met->receive, &second);
  EXPECT_EQ(met->message, ahead.landing);
}

TEST(Matching, AMessageThatHasHadItsTurnIsADuplicate) {
  Matcher here;
  here.message(0);
  EXPECT_TRUE(here.message(0).duplicate);
}

TEST(Matching, AMessageWithoutCreditIsAViolationThatSaysSoAndIsNotKept) {
  Matcher here;
  const Place place = here.message(0, credit);
  EXPECT_FALSE(place.landing);
  EXPECT_EQ(place.violation,
            "rank 1 sent a message with tag 5 (1024 bytes at 0) to rank 0, which has granted a credit of 1024 bytes "
            "(LACUNA_CREDITS, the same on all ranks) and has 0 of it in use");
  EXPECT_EQ(here.landings.in_use(), 0u);
}

TEST(Matching, WhatIsClearedGivesItsCreditBack) {
  Matcher here;
  here.message(0);
  MessageHeader call{.bytes = 64, .run = 3};
  ASSERT_TRUE(here.matching.place({.from = 1, .header = call, .bytes = 64, .eager = true}).landing);
  EXPECT_EQ(here.landings.in_use(), 2u);
  here.matching.clear();
  EXPECT_EQ(here.landings.in_use(), 0u);
  EXPECT_EQ(here.links[1].parked, 0u);
}

}  // namespace
}  // namespace lacuna::test
